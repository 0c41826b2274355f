# What the project is built from; the README says what each is for.

if(POLICY CMP0167)
    cmake_policy(SET CMP0167 NEW)
endif()
find_package(Threads REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED)
find_package(Boost CONFIG QUIET OPTIONAL_COMPONENTS process)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)

if(HIBERNATE_SANITIZE)
    add_compile_options(-fsanitize=${HIBERNATE_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HIBERNATE_SANITIZE})
endif()

# Flags for our own code only.
add_library(hibernate_flags INTERFACE)
target_compile_options(hibernate_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlapping copies in std::string that are none (gcc bug 105651).
    target_compile_options(hibernate_flags INTERFACE -Wno-restrict)
endif()
if(HIBERNATE_WERROR)
    target_compile_options(hibernate_flags INTERFACE -Werror)
endif()

# One translation unit carries Asio, Beast and Process v2; everything else
# includes their declarations only, which halves the time to compile.
add_library(hibernate_third_party STATIC src/third_party.cpp)
target_include_directories(hibernate_third_party PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_include_directories(hibernate_third_party SYSTEM PUBLIC ${XXHASH_INCLUDE_DIR})
target_compile_definitions(hibernate_third_party PUBLIC
    BOOST_ASIO_SEPARATE_COMPILATION
    BOOST_BEAST_SEPARATE_COMPILATION
    BOOST_ASIO_NO_DEPRECATED
    # Coroutine frames that Asio keeps for the next call: as many as are nested where a chunk passes.
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)
target_link_libraries(hibernate_third_party PRIVATE hibernate_shipped)
target_link_libraries(hibernate_third_party PUBLIC
    Boost::headers OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog fmt::fmt
    nlohmann_json::nlohmann_json ${XXHASH_LIBRARY} Threads::Threads)
if(TARGET Boost::process)
    target_link_libraries(hibernate_third_party PUBLIC Boost::process)
else()
    # Before 1.86 Process v2 has no library of its own (third_party.cpp compiles it),
    # and its header-only mode does not link.
    find_package(Boost CONFIG REQUIRED COMPONENTS filesystem)
    target_compile_definitions(hibernate_third_party PUBLIC BOOST_PROCESS_V2_SEPARATE_COMPILATION)
    target_link_libraries(hibernate_third_party PUBLIC Boost::filesystem)
endif()

# hibernate_part(NAME LINKS target...): the static library of src/NAME/*.cpp.
function(hibernate_part name)
    cmake_parse_arguments(PART "" "" "LINKS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
    if(sources)
        add_library(hibernate_${name} STATIC ${sources})
        target_link_libraries(hibernate_${name} PUBLIC ${PART_LINKS} PRIVATE hibernate_flags hibernate_shipped)
    else()
        add_library(hibernate_${name} INTERFACE)
        target_link_libraries(hibernate_${name} INTERFACE ${PART_LINKS})
    endif()
endfunction()

# hibernate_text(NAME FILE VARIABLE): src/NAME/FILE as a constant of src/NAME/VARIABLE.hpp, made from
# VARIABLE.cpp.in.
function(hibernate_text part file variable)
    set(folder ${PROJECT_SOURCE_DIR}/src/${part})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${file})
    file(READ ${folder}/${file} HIBERNATE_TEXT)
    set(made ${PROJECT_BINARY_DIR}/${part}/${variable}.cpp)
    configure_file(${folder}/${variable}.cpp.in ${made} @ONLY)
    target_sources(hibernate_${part} PRIVATE ${made})
    target_include_directories(hibernate_${part} PRIVATE ${folder})
endfunction()

# Installs ${unit} into ${directory}, with the path that our program has under this prefix. The units
# are written for /usr/bin.

foreach(place directory bindir)
    cmake_path(ABSOLUTE_PATH ${place} BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
endforeach()
file(READ "${unit}" text)
string(REPLACE "/usr/bin/llama-hibernate" "${bindir}/llama-hibernate" text "${text}")
cmake_path(GET unit FILENAME name)
file(WRITE "${work}/${name}" "${text}")
file(INSTALL DESTINATION "${directory}" TYPE FILE FILES "${work}/${name}")

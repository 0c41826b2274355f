# Run by cpack on the installed tree, before it becomes a package: what Debian wants otherwise than
# `cmake --install` does it.

set(usr ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(doc ${usr}/share/doc/llama-hibernate)

file(COPY_FILE ${CPACK_HIBERNATE_DEBIAN_FILES}/copyright ${doc}/copyright)
file(COPY_FILE ${CPACK_HIBERNATE_DEBIAN_FILES}/changelog ${doc}/changelog.Debian)
file(MAKE_DIRECTORY ${usr}/share/zsh/vendor-completions)
file(RENAME ${usr}/share/zsh/site-functions/_llama-hibernate
    ${usr}/share/zsh/vendor-completions/_llama-hibernate)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)

execute_process(COMMAND strip --remove-section=.comment --remove-section=.note ${usr}/bin/llama-hibernate
    COMMAND_ERROR_IS_FATAL ANY)
file(GLOB pages ${usr}/share/man/*/*)
foreach(file ${doc}/changelog.Debian ${pages})
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(CHMOD_RECURSE ${doc} ${usr}/share/zsh
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS
        OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

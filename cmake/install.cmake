# What `cmake --install` puts where. Everything is below the prefix of that moment (--prefix, DESTDIR),
# and so is the path that the systemd units name.

install(TARGETS llama-hibernate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES packaging/man/llama-hibernate.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES packaging/man/llama-hibernate.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)

install(FILES packaging/completions/llama-hibernate.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME llama-hibernate)
install(FILES packaging/completions/_llama-hibernate
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES packaging/completions/llama-hibernate.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

file(GLOB examples CONFIGURE_DEPENDS config/*)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/swap.svg DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs) # the README shows it
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# systemd looks for packages' files in lib, whatever the libraries' directory is.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    foreach(kind system user)
        set(folder packaging/systemd)
        if(kind STREQUAL "user")
            string(APPEND folder /user)
        endif()
        file(GLOB units CONFIGURE_DEPENDS ${folder}/*.service)
        foreach(unit ${units})
            install(CODE "
                set(unit \"${unit}\")
                set(directory \"lib/systemd/${kind}\")
                set(bindir \"${CMAKE_INSTALL_BINDIR}\")
                set(work \"${PROJECT_BINARY_DIR}/units/${kind}\")
                include(\"${PROJECT_SOURCE_DIR}/cmake/install_unit.cmake\")")
        endforeach()
    endforeach()
    file(GLOB sysusers CONFIGURE_DEPENDS packaging/sysusers.d/*.conf)
    install(FILES ${sysusers} DESTINATION lib/sysusers.d)
endif()

# `cpack -G DEB` in a build folder makes the Debian package. packaging/test-package tries it.

set(CPACK_PACKAGE_NAME llama-hibernate)
set(CPACK_PACKAGE_VENDOR "the llama-hibernate project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "keep the conversations of llama-server across restarts")
set(CPACK_PACKAGE_DESCRIPTION "llama-hibernate takes the place of llama-server on a command line, in
llama-swap, or in a systemd unit. It starts the real llama-server as its
child and proxies to it. It writes the KV cache of every conversation to
disk, and restores them all when it is started again, so that no prompt
is computed twice.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON) # the units have to name paths of the installed system
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_HIBERNATE_DEBIAN_FILES ${PROJECT_SOURCE_DIR}/packaging/debian)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~local1) # older than any that Debian may have one day
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Whoever distributes the package names themselves: -DCPACK_DEBIAN_PACKAGE_MAINTAINER="... <...>"
if(NOT CPACK_DEBIAN_PACKAGE_MAINTAINER)
    set(CPACK_DEBIAN_PACKAGE_MAINTAINER "llama-hibernate maintainers <llama-hibernate@example.org>")
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For the user of the units.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "llama.cpp-tools")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/postinst
    ${PROJECT_SOURCE_DIR}/packaging/debian/prerm
    ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)

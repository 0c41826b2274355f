# Flags for what is shipped, and not for tests.
add_library(hibernate_shipped INTERFACE)

# What Debian builds its own daemons with. Not for debug builds, whose sanitizers find more, nor for
# tests, which are compiled without the optimizer that _FORTIFY_SOURCE needs. Distributions' compilers
# make position-independent programs by themselves.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(optimised $<CONFIG:Release,RelWithDebInfo>)
    target_compile_options(hibernate_shipped INTERFACE
        $<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2;-fstack-protector-strong;-fstack-clash-protection>)
    target_link_options(hibernate_shipped INTERFACE $<${optimised}:LINKER:-z,relro,-z,now>)
endif()

# Without what only Linux has (base/platform.hpp). There its headers are forbidden then, to our sources
# alone: what Boost and the C++ library do with them is their own matter. tests/portable.sh proves more.
if(HIBERNATE_PORTABLE)
    add_compile_definitions(HIBERNATE_PORTABLE)
endif()
if(HIBERNATE_PORTABLE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    foreach(header
            sys/epoll.h sys/eventfd.h sys/fanotify.h sys/inotify.h sys/pidfd.h sys/prctl.h sys/sendfile.h
            sys/signalfd.h sys/syscall.h sys/sysinfo.h sys/timerfd.h syscall.h linux/close_range.h
            linux/fs.h linux/futex.h linux/io_uring.h linux/ioprio.h linux/magic.h linux/sched.h)
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/forbidden/${header} @ONLY CONTENT
"#pragma GCC system_header
#if __INCLUDE_LEVEL__ == 1
#error \"only Linux has <@header@>\"
#endif
#include_next <@header@>
")
    endforeach()
    target_include_directories(hibernate_shipped BEFORE INTERFACE ${PROJECT_BINARY_DIR}/forbidden)
endif()

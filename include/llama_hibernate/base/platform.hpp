#pragma once
// Whether the calls and files may be used that only Linux has: HIBERNATE_LINUX. Elsewhere, and in a
// build with -DHIBERNATE_PORTABLE=ON, a stand-in does what can be done without them.

#if defined(__linux__) && !defined(HIBERNATE_PORTABLE)
#define HIBERNATE_LINUX 1
#endif

#pragma once
// What differs between systems, behind one seam. Linux has the calls we want; elsewhere a portable
// stand-in does what can be done.

#include <sys/types.h>

namespace hibernate::process::platform {

/// Between fork and exec: arranges that this process is killed when parent dies. False when parent
/// is gone already. Async-signal-safe. Where the system has no such thing it does nothing.
bool die_with_parent(pid_t parent) noexcept;

/// Between fork and exec: no descriptor above stderr survives exec. Async-signal-safe.
bool close_descriptors_on_exec() noexcept;

/// A descriptor that becomes readable when the process ends, or -1 where there is none.
int watch_exit(pid_t process) noexcept;

} // namespace hibernate::process::platform

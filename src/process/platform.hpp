#pragma once
// What differs between systems, behind one seam. Linux has the calls we want; elsewhere a portable
// stand-in does what can be done.

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace hibernate::process::platform {

/// Between fork and exec: arranges that this process is killed when parent dies. False when parent
/// is gone already. Async-signal-safe. Where the system has no such thing it does nothing.
bool die_with_parent(pid_t parent) noexcept;

/// Between fork and exec: no descriptor above stderr survives exec. Async-signal-safe.
bool close_descriptors_on_exec() noexcept;

/// A descriptor that becomes readable when the process ends, or -1 where there is none.
int watch_exit(pid_t process) noexcept;

struct listening_socket {
    std::uint64_t number = 0; ///< its inode
    uid_t user = 0;
    bool exact = false; ///< it listens on 127.0.0.1 itself, not on every address
};

/// The sockets that a connection to 127.0.0.1:port may reach; nothing where the system does not
/// tell.
std::optional<std::vector<listening_socket>> listeners_on_loopback(std::uint16_t port);

/// Whether the process, or one of its session or descent, has the socket open. Where one of them
/// does not let us look, whether the socket's user is its own.
bool family_has_socket(pid_t process, const listening_socket& socket);

} // namespace hibernate::process::platform

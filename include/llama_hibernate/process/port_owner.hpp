#pragma once
// Whose socket answers on a loopback port.
//
// A port is chosen before the child binds it, and any process on the machine may be faster. What we
// send there (prompts, the API key) is for the child only, so nothing is sent before this says that
// it is the child who listens.

#include <cstdint>

namespace hibernate::process {

enum class port_owner {
    nobody,   ///< no process listens there
    child,    ///< the child, or a process that it started
    stranger, ///< another process, alone or together with the child (SO_REUSEPORT)
    unknown,  ///< the system does not tell
};

/// Who gets a connection to 127.0.0.1:port now. child is a process of ours that leads a session,
/// as process::child starts them; what it started counts as the child (SERVER may be a script). A
/// family member that does not let us look at its descriptors (it has another user, or more rights)
/// counts as the owner of what its user listens on.
port_owner who_listens(std::uint16_t port, int child);

} // namespace hibernate::process

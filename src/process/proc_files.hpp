#pragma once
// What Linux tells about sockets and processes in /proc. A process that ends while it is looked at
// is one that is not there.

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "platform.hpp"

namespace hibernate::process::proc {

/// From /proc/self/net/tcp or tcp6: the sockets that listen on the port at 127.0.0.1, in whatever
/// form, or at every address. Nothing if the file cannot be read.
std::optional<std::vector<platform::listening_socket>>
listeners_in(const std::string& table, std::uint16_t port);

/// The process itself, everything in its session, and everything that descends from those.
std::vector<pid_t> family_of(pid_t process);

enum class finding { has_it, has_it_not, closed_to_us };
finding look_for_socket(pid_t process, std::uint64_t number);

/// The user whose rights it has.
std::optional<uid_t> user_of(pid_t process);

} // namespace hibernate::process::proc

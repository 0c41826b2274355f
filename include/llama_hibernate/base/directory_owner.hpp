#pragma once
// Root leaves files of its own wherever it writes, and a daemon of another user cannot read them.
// So whoever runs as root on another user's directory acts as that user.

#include <filesystem>
#include <optional>

#include <boost/system/error_code.hpp>
#include <sys/types.h>

namespace hibernate {

struct user_and_group {
    uid_t user = 0;
    gid_t group = 0;

    friend bool operator==(const user_and_group&, const user_and_group&) = default;
};

/// As whom a process with the rights of that user acts on a directory; nothing: as it is. Pure.
std::optional<user_and_group> whom_to_act_as(uid_t effective_user, const user_and_group& owner);

/// From now on this process has the rights that whom_to_act_as() says, and no others. Does nothing
/// where there is no such directory. If it fails the rights may be of either: touch nothing then.
boost::system::error_code act_as_owner_of(const std::filesystem::path& directory);

} // namespace hibernate

#include "llama_hibernate/base/directory_owner.hpp"

#include <cerrno>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hibernate {

std::optional<user_and_group> whom_to_act_as(uid_t effective_user, const user_and_group& owner) {
    constexpr uid_t root = 0;
    return effective_user == root && owner.user != root ? std::optional(owner) : std::nullopt;
}

boost::system::error_code act_as_owner_of(const std::filesystem::path& directory) {
    struct stat about {};
    if (stat(directory.c_str(), &about) != 0) {
        return {}; // whoever reads it says what is wrong
    }
    const auto owner = whom_to_act_as(geteuid(), {about.st_uid, about.st_gid});
    if (!owner) {
        return {};
    }
    // The groups first: who is not root any more cannot change them.
    const bool done =
        setgroups(1, &owner->group) == 0 && setegid(owner->group) == 0 && seteuid(owner->user) == 0;
    return done ? boost::system::error_code()
                : boost::system::error_code(errno, boost::system::system_category());
}

} // namespace hibernate

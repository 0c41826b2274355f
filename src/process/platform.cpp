#include "platform.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "llama_hibernate/base/platform.hpp"

#if defined(HIBERNATE_LINUX)
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "proc_files.hpp"
#endif

namespace hibernate::process::platform {

namespace {

[[maybe_unused]] bool mark_each_descriptor() noexcept {
    // The limit may be none, or beyond what can be tried one by one.
    constexpr long most = 1L << 20;
    const long limit = sysconf(_SC_OPEN_MAX);
    const long end = limit < 0 ? most : std::min(limit, most);
    for (int descriptor = STDERR_FILENO + 1; descriptor < end; ++descriptor) {
        const int flags = fcntl(descriptor, F_GETFD);
        if (flags >= 0) {
            fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
        }
    }
    return true;
}

} // namespace

#if defined(HIBERNATE_LINUX)

bool die_with_parent(pid_t parent) noexcept {
    // The parent may have died before the call; then no signal would ever come.
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

bool close_descriptors_on_exec() noexcept {
#if defined(SYS_close_range)
    constexpr unsigned on_exec = 1U << 2; // CLOSE_RANGE_CLOEXEC
    // On exec, not now: the launcher reports a failed exec through one of them.
    if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, on_exec) == 0) {
        return true;
    }
#endif
    return mark_each_descriptor(); // kernels before 5.11
}

int watch_exit(pid_t process) noexcept {
#if defined(SYS_pidfd_open)
    return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
#else
    return -1;
#endif
}

std::optional<std::vector<listening_socket>> listeners_on_loopback(std::uint16_t port) {
    auto found = proc::listeners_in("/proc/self/net/tcp", port);
    if (!found) {
        return std::nullopt;
    }
    // There may be no IPv6.
    if (const auto more = proc::listeners_in("/proc/self/net/tcp6", port)) {
        found->insert(found->end(), more->begin(), more->end());
    }
    return found;
}

bool family_has_socket(pid_t process, const listening_socket& socket) {
    std::vector<pid_t> closed;
    const auto has_it = [&](pid_t one) {
        const auto found = proc::look_for_socket(one, socket.number);
        if (found == proc::finding::closed_to_us) {
            closed.push_back(one);
        }
        return found == proc::finding::has_it;
    };
    if (has_it(process)) {
        return true;
    }
    const auto family = proc::family_of(process);
    return std::any_of(family.begin(), family.end(), has_it) ||
           std::any_of(closed.begin(), closed.end(), [&socket](pid_t one) {
               return proc::user_of(one) == socket.user;
           });
}

#else

bool die_with_parent(pid_t parent) noexcept {
    return getppid() == parent;
}
bool close_descriptors_on_exec() noexcept {
    return mark_each_descriptor();
}
int watch_exit(pid_t) noexcept {
    return -1;
}
std::optional<std::vector<listening_socket>> listeners_on_loopback(std::uint16_t) {
    return std::nullopt;
}
bool family_has_socket(pid_t, const listening_socket&) {
    return false;
}

#endif

} // namespace hibernate::process::platform

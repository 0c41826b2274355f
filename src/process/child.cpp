#include "llama_hibernate/process/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/process/descriptor_limit.hpp"
#include "platform.hpp"

namespace hibernate::process {

namespace asio = boost::asio;
namespace process_v2 = boost::process::v2;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds pause_between_polls{20}; // where an exit cannot be watched

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (const auto& text : texts) {
        result.push_back(const_cast<char*>(text.c_str())); // exec's signature; it writes nothing
    }
    result.push_back(nullptr);
    return result;
}

/// What the forked process does to itself before exec. It must stay within async-signal-safe calls.
struct containment {
    char* const* environment;
    pid_t parent;

    // Set here rather than by Process's own environment initializer, whose definitions are missing
    // from some Boost releases.
    template <class Launcher>
    error_code
    on_setup(Launcher& launcher, const process_v2::filesystem::path&, const char* const*&) {
        launcher.env = environment;
        return {};
    }

    template <class Launcher>
    error_code on_exec_setup(Launcher&, const process_v2::filesystem::path&, const char* const*) {
        // A group signal of whoever started us must not reach the child.
        if (setsid() < 0) {
            return refused();
        }
        if (!platform::die_with_parent(parent)) {
            errno = ESRCH;
            return refused();
        }
        // Ignored signals and the mask survive exec. SIGTERM is blocked for the child's whole life:
        // it is sent to everything in a control group, and the child must be saved first.
        for (const int usual : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) {
            signal(usual, SIG_DFL);
        }
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGTERM);
        restore_descriptor_limit();
        if (sigprocmask(SIG_SETMASK, &blocked, nullptr) != 0 ||
            !platform::close_descriptors_on_exec()) {
            return refused();
        }
        return {};
    }

    // Variadic: Boost 1.81 and 1.83 find no other form. It keeps the forked process from running
    // our static destructors.
    template <class... Ignored>
    void on_exec_error(Ignored&&...) noexcept {
        _exit(exit_code_never_seen);
    }

    // The launcher reports errno, not the error_code; both have to say the same.
    static error_code refused() { return {errno, boost::system::system_category()}; }

    static constexpr int exit_code_never_seen = 127; // the launcher reports errno instead
};

} // namespace

boost::system::result<child> child::launch(asio::io_context& context, const command& what) {
    const auto environment = pointers(what.environment);
    containment contained{environment.data(), getpid()};
    // Order matters: the standard streams are in place before descriptors are marked.
    process_v2::process_stdio streams{nullptr, {}, {}};

    process_v2::posix::default_launcher launcher;
    error_code ec;
    auto started = launcher(
        context.get_executor(), ec, process_v2::filesystem::path(what.executable), what.arguments,
        streams, contained);
    if (ec) {
        // Some Boost releases leave the forked process as a zombie.
        if (launcher.pid > 0) {
            waitpid(launcher.pid, nullptr, 0);
        }
        return ec;
    }
    const auto pid = started.id();
    // Process's own handle would block in waitpid, in its wait and in its destructor.
    started.detach();
    return child(context, pid, platform::watch_exit(pid));
}

child::child(asio::io_context& context, int pid, int exit_descriptor)
    : pid_(pid), exit_watch_(context) {
    if (exit_descriptor >= 0) {
        error_code ignored; // without a watch, wait() polls
        exit_watch_.assign(exit_descriptor, ignored);
    }
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_watch_(std::move(other.exit_watch_)) {}

child::~child() {
    if (running()) {
        kill(-pid_, SIGKILL);
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

void child::send(int signal) noexcept {
    if (running()) {
        kill(pid_, signal);
    }
}

bool child::try_reap(exit_report& report) noexcept {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        pid_ = -1; // somebody else reaped it: nothing more is to be known
        return true;
    }
    if (info.si_pid == 0) {
        return false;
    }
    // Its zombie still holds the group's number, so this can hit nobody else.
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        report.signal = WTERMSIG(status);
    } else {
        report.code = WEXITSTATUS(status);
    }
    pid_ = -1;
    return true;
}

awaitable<exit_report> child::wait() {
    exit_report report;
    while (running() && !try_reap(report)) {
        if (exit_watch_.is_open()) {
            error_code ec; // on cancellation the awaitable's own state throws
            co_await exit_watch_.async_wait(
                asio::posix::descriptor_base::wait_read, asio::redirect_error(use_awaitable, ec));
            if (ec == asio::error::operation_aborted) {
                throw boost::system::system_error(ec);
            }
        } else {
            co_await pause(pause_between_polls);
        }
    }
    co_return report;
}

error_code execute_in_place(const command& what) {
    auto arguments = what.arguments;
    arguments.insert(arguments.begin(), what.executable);
    execve(what.executable.c_str(), pointers(arguments).data(), pointers(what.environment).data());
    return {errno, boost::system::system_category()};
}

int launch_failure_status(const error_code& reason) noexcept {
    return reason == boost::system::errc::no_such_file_or_directory ? exit_status::not_found
                                                                    : exit_status::not_executable;
}

std::string find_program(const std::string& name, const std::string& path_variable) {
    if (name.find('/') != std::string::npos) {
        return name;
    }
    std::size_t begin = 0;
    while (begin <= path_variable.size()) {
        const auto end = std::min(path_variable.find(':', begin), path_variable.size());
        const auto directory = path_variable.substr(begin, end - begin);
        const auto candidate = (directory.empty() ? "." : directory) + "/" + name;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(candidate, ignored) &&
            access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
        begin = end + 1;
    }
    return {};
}

} // namespace hibernate::process

#pragma once
// The child process: launched so that nothing but us can stop it, and nothing of ours leaks into
// it.
//
// What surrounds us signals groups: llama-swap the process group, systemd the control group, a
// terminal its foreground group. Each would stop llama-server before it is saved. So the child
// leads a session of its own, has SIGTERM blocked in its mask (stop it with SIGINT), and dies with
// us (PR_SET_PDEATHSIG), since no group signal reaches it any more. It inherits our stdout and
// stderr, /dev/null as stdin, and no other descriptor.

#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/process/exit_report.hpp"

namespace hibernate::process {

struct command {
    std::string executable;               ///< a path; PATH is not searched
    std::vector<std::string> arguments;   ///< without argv[0]
    std::vector<std::string> environment; ///< all of it, "NAME=value"
};

/// One started process. Destroying it kills and reaps the process if it still runs, so a child
/// never outlives its object, whatever way we leave.
class child {
public:
    /// Starts it, or says why the system refused (ENOENT, EACCES, ENOEXEC...); a refused start
    /// leaves no process behind, not even a zombie. Call it from the main thread only: the death
    /// signal is tied to the thread that forks.
    static boost::system::result<child>
    launch(boost::asio::io_context& context, const command& what);

    child(child&& other) noexcept;
    child& operator=(child&&) = delete;
    ~child();

    int pid() const noexcept { return pid_; }
    bool running() const noexcept { return pid_ > 0; }

    /// Sends a signal to the process alone; nothing happens once it is reaped.
    void send(int signal) noexcept;

    /// Completes when the process has ended and is reaped. Stragglers in its group are killed
    /// before its id can be used again. Never blocks the event loop; can be cancelled and called
    /// again; one call at a time.
    awaitable<exit_report> wait();

private:
    child(boost::asio::io_context& context, int pid, int exit_descriptor);
    bool try_reap(exit_report& report) noexcept;

    int pid_ = -1;
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> exit_watch_;
};

/// Replaces this process by the command. Returns only when that failed, with the reason.
boost::system::error_code execute_in_place(const command& what);

/// The exit status a shell would use for a program that could not be started for this reason.
int launch_failure_status(const boost::system::error_code& reason) noexcept;

/// The path of the program that a shell would run for this name: the name itself if it has a
/// slash, else the first executable file of that name on PATH, else nothing (empty).
std::string find_program(const std::string& name, const std::string& path_variable);

} // namespace hibernate::process

#pragma once
// How a process ended, and what that says of it: pure.

#include <string>

namespace hibernate::process {

/// By exit or by a signal, never both.
struct exit_report {
    int code = 0;   ///< of exit(), when signal is 0
    int signal = 0; ///< that ended it, or 0

    /// As a shell reports it: the code, or 128 + signal.
    int shell_status() const noexcept { return signal != 0 ? 128 + signal : code; }

    /// It ended otherwise than it does when somebody asks it to.
    bool is_crash() const noexcept;

    /// It died of what it did, and nobody killed it.
    bool is_fault() const noexcept;

    /// "was killed by signal 9 (Killed)", "exited with status 1"
    std::string describe() const;
};

} // namespace hibernate::process

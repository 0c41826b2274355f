#pragma once
// Errors of start-up and configuration: a full sentence for the user and the status to exit with.

#include <stdexcept>
#include <string>

namespace hibernate {

/// Exit statuses that are ours; a child's own status is passed on as it is.
namespace exit_status {
inline constexpr int failure = 1;          ///< a start that cannot succeed
inline constexpr int usage = 2;            ///< an option that we do not know or cannot read
inline constexpr int no_answer = 3;        ///< `status`: nothing answers
inline constexpr int not_executable = 126; ///< as a shell says it: found, but cannot be executed
inline constexpr int not_found = 127;      ///< as a shell says it: no such program
} // namespace exit_status

/// Thrown before the daemon serves; main() prints what() as one line and exits with status().
class startup_error : public std::runtime_error {
public:
    explicit startup_error(const std::string& sentence, int status = exit_status::failure)
        : std::runtime_error(sentence), status_(status) {}

    int status() const noexcept { return status_; }

private:
    int status_;
};

} // namespace hibernate

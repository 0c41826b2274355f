#pragma once
// What a service manager is told, and when: pure, in the words of sd_notify(3).
//
//     READY=1                 once, when the gate opens for the first time
//     STOPPING=1              once, when a stop was asked for
//     STATUS=...              whenever it changes: "restoring 2 of 5"
//     EXTEND_TIMEOUT_USEC=... before READY=1, and while stopping, as long as our own budget lasts
//     WATCHDOG=1              where the manager watches us
//
// A message says all that is not known to have arrived: one that was lost is made up for by the
// next. What asks for time or shows that we live is said again after interval().

#include <chrono>
#include <optional>
#include <string>

#include "llama_hibernate/keeper/lifecycle.hpp"

namespace hibernate::keeper {

/// How we are.
struct service_condition {
    keeper::phase phase = phase::loading;
    bool stopping = false; ///< a stop was asked for
    /// restoring and saving: "2 of 5"; ready: what came of the restore. May be empty.
    std::string detail;
    std::chrono::milliseconds stop_time_left{0}; ///< stopping: until we must be gone
};

class service_notices {
public:
    /// watchdog is the time after which a manager that hears nothing kills us; nothing: it does
    /// not.
    explicit service_notices(std::optional<std::chrono::microseconds> watchdog)
        : watchdog_(watchdog) {}

    /// The message to send now; empty if there is nothing to say.
    std::string message(const service_condition& now) const;

    /// The message for this condition has arrived.
    void delivered(const service_condition& now);

    /// When to look for a message again if nothing changes; nothing: not before something does.
    std::optional<std::chrono::milliseconds> interval(const service_condition& now) const;

private:
    std::optional<std::chrono::microseconds> watchdog_;
    bool ready_told_ = false;
    bool stopping_told_ = false;
    std::string status_told_;
};

/// "restoring 2 of 5"
std::string describe(const service_condition& now);

/// The watchdog's time from its variables: usec is WATCHDOG_USEC, pid WATCHDOG_PID, each empty if
/// it is not set; nothing unless it is a positive number and meant for the process own_pid.
std::optional<std::chrono::microseconds>
watchdog_time(const std::string& usec, const std::string& pid, int own_pid);

} // namespace hibernate::keeper

#pragma once
// The life of the daemon as a pure state machine: events in, actions out, no clock and no I/O.
//
//     loading -> restoring -> ready -> draining -> saving -> stopping -> finished
//
// A child that a refused restore has harmed is replaced by one that gets no restore:
// restoring -> replacing -> loading.
//
// The driver performs the actions in the order given and reports what came of them as further
// events. An event that means nothing in the present phase is ignored: timers and completions that
// were overtaken need no cancelling for the sake of this machine.

#include <chrono>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace hibernate::keeper {

enum class phase {
    loading,   ///< the child has been started and does not answer 200 yet
    restoring, ///< snapshots go into slots; clients still wait
    ready,     ///< the gate is open
    draining,  ///< stop was asked for; requests in flight may finish
    saving,    ///< every changed slot is being written
    stopping,  ///< the child was told to go
    waiting,   ///< the child died and will be started again (on-exit restart)
    replacing, ///< a harmed child was killed; a new one follows when it is gone
    finished,  ///< nothing is left to do but to exit with exit_status()
};

enum class action {
    start_child,       ///< launch it, watch its exit and poll its health
    start_child_later, ///< the same after restart_delay()
    restore,           ///< restore what is planned, ending by restore_ended
    learn_child,       ///< learn what the child is and restore nothing, ending by restore_ended
    open_gate,         ///< requests pass
    hold_gate,         ///< requests wait again (a restart)
    close_gate,        ///< refuse everything from now on and close the listener
    drain,             ///< wait for requests in flight, ending by drained
    cut_connections,   ///< close every client and upstream connection now
    abandon_restore,   ///< no further restore is started
    save,              ///< save every changed slot, ending by save_ended
    abandon_save,      ///< no further save is started
    interrupt_child,   ///< SIGINT, and SIGKILL after child_grace()
    kill_child,        ///< SIGKILL now
    finish,            ///< leave the event loop; exit with exit_status()
};

struct event {
    enum class kind {
        child_answers,  ///< its /health said 200
        restore_ended,  ///< all planned snapshots are in, or the restore budget is spent
        stop_requested, ///< SIGTERM, SIGINT or SIGHUP, each time one arrives
        drained,        ///< nothing is in flight any more, or the drain time is over
        save_ended,     ///< all is saved, or the stop budget's reserve is reached
        child_exited,   ///< reaped; shell_status and up_time tell more
        restart_due,    ///< restart_delay() is over
        child_harmed,   ///< it does not work any more after a restore that it refused
    };
    kind what;
    int shell_status = 0;                 ///< child_exited: its status as a shell would report it
    std::chrono::milliseconds up_time{0}; ///< child_exited: since it was started
};

enum class exit_policy { exit, restart };

class lifecycle {
public:
    explicit lifecycle(exit_policy policy) : policy_(policy) {}

    /// The first actions of all.
    std::vector<action> start();
    std::vector<action> on(const event& happened);

    keeper::phase phase() const noexcept { return phase_; }
    bool stop_was_requested() const noexcept { return stop_requested_; }

    /// Valid in finished: 0 after a stop that was asked for, else the child's status.
    int exit_status() const noexcept { return exit_status_; }

    /// From SIGINT to SIGKILL: one second for a child that never was ready, else two.
    std::chrono::milliseconds child_grace() const noexcept;

    /// Before a dead child is started again: 1 s, doubled with each death, 30 s at most; a child
    /// that was up for a minute starts the count anew.
    std::chrono::milliseconds restart_delay() const noexcept;

private:
    std::vector<action> on_stop_requested();
    std::vector<action> on_child_exited(const event& happened);

    exit_policy policy_;
    keeper::phase phase_ = phase::loading;
    bool stop_requested_ = false;
    bool was_ready_ = false; ///< in any of the child's lives
    bool cold_ = false;      ///< nothing is restored in this life of the child
    int deaths_in_a_row_ = 0;
    int exit_status_ = 0;
};

std::string_view to_string(phase value) noexcept;
std::string_view to_string(action value) noexcept;
std::ostream& operator<<(std::ostream& out, phase value);
std::ostream& operator<<(std::ostream& out, action value);

} // namespace hibernate::keeper

#include "llama_hibernate/keeper/lifecycle.hpp"

#include <algorithm>
#include <ostream>

namespace hibernate::keeper {

using namespace std::chrono_literals;

namespace {

constexpr auto first_restart_delay = 1'000ms;
constexpr auto longest_restart_delay = 30'000ms;
constexpr auto long_enough_up = 60'000ms;
constexpr auto grace_before_ready = 1'000ms;
constexpr auto grace = 2'000ms;

} // namespace

std::vector<action> lifecycle::start() {
    return {action::start_child};
}

std::vector<action> lifecycle::on(const event& happened) {
    if (phase_ == phase::finished) {
        return {};
    }
    switch (happened.what) {
    case event::kind::stop_requested:
        return on_stop_requested();

    case event::kind::child_exited:
        return on_child_exited(happened);

    case event::kind::child_answers:
        if (phase_ != phase::loading) {
            return {};
        }
        phase_ = phase::restoring;
        return {cold_ ? action::learn_child : action::restore};

    case event::kind::restore_ended:
        if (phase_ != phase::restoring) {
            return {};
        }
        phase_ = phase::ready;
        was_ready_ = true;
        return {action::open_gate};

    case event::kind::drained:
        if (phase_ != phase::draining) {
            return {};
        }
        phase_ = phase::saving;
        // Whatever is still open would defer the saves, and llama-server would wait for it for
        // ever.
        return {action::cut_connections, action::save};

    case event::kind::save_ended:
        if (phase_ != phase::saving) {
            return {};
        }
        phase_ = phase::stopping;
        return {action::interrupt_child};

    case event::kind::restart_due:
        if (phase_ != phase::waiting) {
            return {};
        }
        phase_ = phase::loading;
        return {action::start_child};

    case event::kind::child_harmed:
        if (phase_ != phase::restoring) {
            return {};
        }
        phase_ = phase::replacing;
        return {action::abandon_restore, action::hold_gate, action::kill_child};
    }
    return {};
}

std::vector<action> lifecycle::on_stop_requested() {
    stop_requested_ = true;
    switch (phase_) {
    case phase::loading:
        // What is in the slots is less than what is on disk: nothing to save.
        phase_ = phase::stopping;
        return {action::close_gate, action::interrupt_child};
    case phase::restoring:
        phase_ = phase::stopping;
        return {action::close_gate, action::abandon_restore, action::interrupt_child};
    case phase::ready:
        phase_ = phase::draining;
        return {action::close_gate, action::drain};
    case phase::draining:
        phase_ = phase::stopping;
        return {action::cut_connections, action::interrupt_child};
    case phase::saving:
        phase_ = phase::stopping;
        return {action::abandon_save, action::interrupt_child};
    case phase::stopping:
        return {action::kill_child};
    case phase::waiting:
        phase_ = phase::finished;
        return {action::close_gate, action::finish};
    case phase::replacing:
        // It was killed already: only its end is to be waited for.
        phase_ = phase::stopping;
        return {action::close_gate};
    case phase::finished:
        break;
    }
    return {};
}

std::vector<action> lifecycle::on_child_exited(const event& happened) {
    if (phase_ == phase::waiting) {
        return {};
    }
    if (phase_ == phase::replacing) {
        phase_ = phase::loading;
        cold_ = true;
        return {action::start_child};
    }
    cold_ = false;
    // A child that never was ready has something wrong with its arguments or its model: starting it
    // again would fail again, and hide it.
    const bool restarts = policy_ == exit_policy::restart && !stop_requested_ && was_ready_;
    if (!restarts) {
        phase_ = phase::finished;
        exit_status_ = stop_requested_ ? 0 : happened.shell_status;
        return {action::finish};
    }
    deaths_in_a_row_ = happened.up_time >= long_enough_up ? 1 : deaths_in_a_row_ + 1;
    phase_ = phase::waiting;
    return {action::hold_gate, action::cut_connections, action::start_child_later};
}

std::chrono::milliseconds lifecycle::child_grace() const noexcept {
    return was_ready_ ? grace : grace_before_ready;
}

std::chrono::milliseconds lifecycle::restart_delay() const noexcept {
    const auto doublings = std::clamp(deaths_in_a_row_ - 1, 0, 5);
    return std::min<std::chrono::milliseconds>(
        first_restart_delay * (1 << doublings), longest_restart_delay);
}

std::string_view to_string(phase value) noexcept {
    switch (value) {
    case phase::loading:
        return "loading";
    case phase::restoring:
        return "restoring";
    case phase::ready:
        return "ready";
    case phase::draining:
        return "draining";
    case phase::saving:
        return "saving";
    case phase::stopping:
        return "stopping";
    case phase::waiting:
        return "waiting";
    case phase::replacing:
        return "replacing";
    case phase::finished:
        return "finished";
    }
    return "?";
}

std::string_view to_string(action value) noexcept {
    switch (value) {
    case action::start_child:
        return "start_child";
    case action::start_child_later:
        return "start_child_later";
    case action::restore:
        return "restore";
    case action::learn_child:
        return "learn_child";
    case action::open_gate:
        return "open_gate";
    case action::hold_gate:
        return "hold_gate";
    case action::close_gate:
        return "close_gate";
    case action::drain:
        return "drain";
    case action::cut_connections:
        return "cut_connections";
    case action::abandon_restore:
        return "abandon_restore";
    case action::save:
        return "save";
    case action::abandon_save:
        return "abandon_save";
    case action::interrupt_child:
        return "interrupt_child";
    case action::kill_child:
        return "kill_child";
    case action::finish:
        return "finish";
    }
    return "?";
}

std::ostream& operator<<(std::ostream& out, phase value) {
    return out << to_string(value);
}
std::ostream& operator<<(std::ostream& out, action value) {
    return out << to_string(value);
}

} // namespace hibernate::keeper

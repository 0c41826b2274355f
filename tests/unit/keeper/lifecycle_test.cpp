#include "llama_hibernate/keeper/lifecycle.hpp"

#include <string>
#include <tuple>

#include "catch.hpp"

using namespace hibernate::keeper;
using namespace std::chrono_literals;
using kind = event::kind;
using actions = std::vector<action>;

namespace {

lifecycle in_phase(phase wanted, exit_policy policy = exit_policy::exit) {
    lifecycle life(policy);
    life.start();
    const auto go = [&](kind what) { life.on({what, 0, 0ms}); };
    switch (wanted) {
    case phase::loading:
        break;
    case phase::restoring:
        go(kind::child_answers);
        break;
    case phase::ready:
        go(kind::child_answers);
        go(kind::restore_ended);
        break;
    case phase::draining:
        life = in_phase(phase::ready, policy);
        go(kind::stop_requested);
        break;
    case phase::saving:
        life = in_phase(phase::draining, policy);
        go(kind::drained);
        break;
    case phase::stopping:
        life = in_phase(phase::saving, policy);
        go(kind::save_ended);
        break;
    case phase::waiting:
        life = in_phase(phase::ready, exit_policy::restart);
        go(kind::child_exited);
        break;
    case phase::replacing:
        life = in_phase(phase::restoring, policy);
        go(kind::child_harmed);
        break;
    case phase::finished:
        life = in_phase(phase::stopping, policy);
        go(kind::child_exited);
        break;
    }
    REQUIRE(life.phase() == wanted);
    return life;
}

struct row {
    phase from;
    kind what;
    phase to;
    actions expected;
};

constexpr phase all_phases[] = {phase::loading,  phase::restoring, phase::ready,
                                phase::draining, phase::saving,    phase::stopping,
                                phase::waiting,  phase::replacing, phase::finished};
constexpr kind all_kinds[] = {kind::child_answers, kind::restore_ended, kind::stop_requested,
                              kind::drained,       kind::save_ended,    kind::child_exited,
                              kind::restart_due,   kind::child_harmed};

} // namespace

TEST_CASE("every phase meets every event as the table says") {
    const std::vector<row> table{
        {phase::loading, kind::child_answers, phase::restoring, {action::restore}},
        {phase::loading,
         kind::stop_requested,
         phase::stopping,
         {action::close_gate, action::interrupt_child}},
        {phase::loading, kind::child_exited, phase::finished, {action::finish}},

        {phase::restoring, kind::restore_ended, phase::ready, {action::open_gate}},
        {phase::restoring,
         kind::stop_requested,
         phase::stopping,
         {action::close_gate, action::abandon_restore, action::interrupt_child}},
        {phase::restoring, kind::child_exited, phase::finished, {action::finish}},

        {phase::ready, kind::stop_requested, phase::draining, {action::close_gate, action::drain}},
        {phase::ready, kind::child_exited, phase::finished, {action::finish}},

        {phase::draining, kind::drained, phase::saving, {action::cut_connections, action::save}},
        {phase::draining,
         kind::stop_requested,
         phase::stopping,
         {action::cut_connections, action::interrupt_child}},
        {phase::draining, kind::child_exited, phase::finished, {action::finish}},

        {phase::saving, kind::save_ended, phase::stopping, {action::interrupt_child}},
        {phase::saving,
         kind::stop_requested,
         phase::stopping,
         {action::abandon_save, action::interrupt_child}},
        {phase::saving, kind::child_exited, phase::finished, {action::finish}},

        {phase::stopping, kind::stop_requested, phase::stopping, {action::kill_child}},
        {phase::stopping, kind::child_exited, phase::finished, {action::finish}},

        {phase::restoring,
         kind::child_harmed,
         phase::replacing,
         {action::abandon_restore, action::hold_gate, action::kill_child}},
        {phase::replacing, kind::child_exited, phase::loading, {action::start_child}},
        {phase::replacing, kind::stop_requested, phase::stopping, {action::close_gate}},

        {phase::waiting, kind::restart_due, phase::loading, {action::start_child}},
        {phase::waiting,
         kind::stop_requested,
         phase::finished,
         {action::close_gate, action::finish}},
    };

    for (const auto from : all_phases) {
        for (const auto what : all_kinds) {
            // What is not in the table is ignored.
            row expected{from, what, from, {}};
            for (const auto& known : table) {
                if (known.from == from && known.what == what) {
                    expected = known;
                }
            }
            auto life = in_phase(from);
            INFO(to_string(from) << " meets event " << static_cast<int>(what));
            CHECK(life.on({what, 0, 0ms}) == expected.expected);
            CHECK(life.phase() == expected.to);
        }
    }
}

TEST_CASE("the first action is to start the child") {
    lifecycle life(exit_policy::exit);
    CHECK(life.start() == actions{action::start_child});
    CHECK(life.phase() == phase::loading);
}

TEST_CASE("the child's own death is our exit status, in every phase before a stop") {
    for (const auto from : {phase::loading, phase::restoring, phase::ready}) {
        auto life = in_phase(from);
        life.on({kind::child_exited, 139, 0ms});
        CHECK(life.exit_status() == 139);
    }
}

TEST_CASE("after a stop that was asked for the exit status is 0, whatever the child said") {
    for (const auto from :
         {phase::loading, phase::restoring, phase::ready, phase::draining, phase::saving,
          phase::stopping}) {
        auto life = in_phase(from);
        life.on({kind::stop_requested, 0, 0ms});
        life.on({kind::child_exited, 130, 0ms});
        CHECK(life.phase() == phase::finished);
        CHECK(life.exit_status() == 0);
    }
}

TEST_CASE("a child that never was ready gets one second after SIGINT, else two") {
    CHECK(in_phase(phase::loading).child_grace() == 1s);
    CHECK(in_phase(phase::restoring).child_grace() == 1s);
    CHECK(in_phase(phase::ready).child_grace() == 2s);
    CHECK(in_phase(phase::saving).child_grace() == 2s);
}

TEST_CASE("with on-exit restart a dead child is started again, later and later") {
    auto life = in_phase(phase::ready, exit_policy::restart);
    const auto die = [&](std::chrono::milliseconds up_time) {
        return life.on({kind::child_exited, 134, up_time});
    };
    const actions again{action::hold_gate, action::cut_connections, action::start_child_later};

    CHECK(die(5s) == again);
    CHECK(life.restart_delay() == 1s);
    for (const auto delay : {2s, 4s, 8s, 16s, 30s, 30s}) {
        CHECK(life.on({kind::restart_due, 0, 0ms}) == actions{action::start_child});
        CHECK(die(100ms) == again);
        CHECK(life.restart_delay() == delay);
    }
    SECTION("a minute of life starts the count anew") {
        life.on({kind::restart_due, 0, 0ms});
        die(60s);
        CHECK(life.restart_delay() == 1s);
    }
    SECTION("it is restored again before the gate opens") {
        life.on({kind::restart_due, 0, 0ms});
        CHECK(life.on({kind::child_answers, 0, 0ms}) == actions{action::restore});
        CHECK(life.on({kind::restore_ended, 0, 0ms}) == actions{action::open_gate});
    }
}

TEST_CASE("a child that never became ready is not started again") {
    auto life = in_phase(phase::loading, exit_policy::restart);
    CHECK(life.on({kind::child_exited, 1, 300ms}) == actions{action::finish});
    CHECK(life.exit_status() == 1);
}

TEST_CASE("a harmed child is replaced by one that is served without a restore") {
    for (const auto policy : {exit_policy::exit, exit_policy::restart}) {
        auto life = in_phase(phase::restoring, policy);
        life.on({kind::child_harmed, 0, 0ms});
        // It was us who killed it: nobody waits for a delay, and nobody exits.
        CHECK(life.on({kind::child_exited, 137, 100ms}) == actions{action::start_child});
        CHECK(life.on({kind::child_answers, 0, 0ms}) == actions{action::learn_child});
    }
    auto life = in_phase(phase::replacing, exit_policy::restart);
    life.on({kind::child_exited, 137, 100ms});
    life.on({kind::child_answers, 0, 0ms});
    SECTION("it serves") {
        CHECK(life.on({kind::restore_ended, 0, 0ms}) == actions{action::open_gate});
        SECTION("and its next life is restored again") {
            life.on({kind::child_exited, 1, 100ms});
            life.on({kind::restart_due, 0, 0ms});
            CHECK(life.on({kind::child_answers, 0, 0ms}) == actions{action::restore});
        }
    }
    SECTION("if that one dies before it serves, so do we") {
        CHECK(life.on({kind::child_exited, 3, 100ms}) == actions{action::finish});
        CHECK(life.exit_status() == 3);
    }
}

TEST_CASE("a stop while a harmed child is replaced ends when it is gone") {
    auto life = in_phase(phase::replacing);
    CHECK(life.on({kind::stop_requested, 0, 0ms}) == actions{action::close_gate});
    CHECK(life.on({kind::child_exited, 137, 0ms}) == actions{action::finish});
    CHECK(life.exit_status() == 0);
}

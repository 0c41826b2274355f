#include "llama_hibernate/app/journal.hpp"

#include <cmath>

#include "catch.hpp"

using namespace hibernate;
using namespace hibernate::app;
using namespace std::chrono_literals;
using admin::slot_condition;

namespace {

restore_report restored_two() {
    restore_report report;
    report.restored = {{"preloaded", 0, 500, 500, 10ms}, {"in_slot", 0, 1000, 800, 20ms}};
    report.in_slots = {"in_slot"};
    report.tokens = 1500;
    report.left_out = 1;
    return report;
}

keeper::slot_state slot(int id, std::uint64_t tokens, std::int64_t task, bool changed) {
    keeper::slot_state state;
    state.id = id;
    state.tokens = tokens;
    state.task = task;
    state.changed = changed;
    return state;
}

save_report saved(int slot, const std::string& reused = "") {
    save_report report;
    report.saved = {{"new", slot, 1200, 4096, 5ms}};
    if (!reused.empty()) {
        report.reused = {{reused, slot}};
    }
    return report;
}

bool near(double value, double wanted) {
    return std::abs(value - wanted) < 1e-9;
}

std::vector<admin::slot_view>
describe(const journal& notes, const std::vector<keeper::slot_state>& slots) {
    constexpr std::uint64_t min_tokens = 256;
    return notes.describe_slots(slots, min_tokens);
}

keeper::slot_turns one_turn(std::uint64_t reused, std::uint64_t computed) {
    return {{{{reused, computed, {}}, false}}, true};
}

} // namespace

TEST_CASE("a slot shows what was restored into it until something else happens to it") {
    journal notes;
    notes.note_restore(restored_two(), 3, 2, "build b1, now b2");
    REQUIRE(notes.restore());
    CHECK(notes.restore()->planned == 3);
    CHECK(notes.restore()->skipped == 2);

    const auto untouched = describe(notes, {slot(0, 0, -1, false), slot(1, 0, -1, false)});
    CHECK(untouched[0] == admin::slot_view{0, 1000, slot_condition::restored, "in_slot"});
    CHECK(untouched[1] == admin::slot_view{1, 0, slot_condition::empty, ""});

    SECTION("a request ran in it") {
        const auto views = describe(notes, {slot(0, 1100, 7, true)});
        CHECK(views[0] == admin::slot_view{0, 1100, slot_condition::unsaved, "in_slot"});
        notes.note_save("idle", saved(0), [](int) { return keeper::slot_turns(); });
        const auto later = describe(notes, {slot(0, 1200, 7, false)});
        CHECK(later[0] == admin::slot_view{0, 1200, slot_condition::saved, "new"});
        const auto emptied = describe(notes, {slot(0, 0, 7, false)});
        CHECK(emptied[0].condition == slot_condition::empty);
        CHECK(emptied[0].snapshot.empty());
    }
    SECTION("another slot got a request, which empties it") {
        notes.note_request(std::nullopt, true);
        CHECK(describe(notes, {slot(0, 0, -1, false)})[0].condition == slot_condition::empty);
    }
    SECTION("another slot got a request, which does not") {
        notes.note_request(std::nullopt, false);
        CHECK(describe(notes, {slot(0, 0, -1, false)})[0].condition == slot_condition::restored);
    }
    SECTION("the child died") {
        notes.forget_child();
        CHECK(describe(notes, {slot(0, 0, -1, false)})[0].condition == slot_condition::empty);
    }
    SECTION("a request runs") {
        auto busy = slot(0, 1000, 7, true);
        busy.processing = true;
        CHECK(describe(notes, {busy})[0].condition == slot_condition::busy);
    }
}

TEST_CASE("a slot with too few tokens to be saved is not waiting for that") {
    const journal notes;
    const auto views = describe(notes, {slot(0, 255, 7, true), slot(1, 256, 8, true)});
    CHECK(views[0].condition == slot_condition::too_short);
    CHECK(views[1].condition == slot_condition::unsaved);
    CHECK(notes.describe_slots({slot(0, 1, 7, true)}, 0)[0].condition == slot_condition::unsaved);
}

TEST_CASE("what a restore was worth is what the first request found, at the measured price") {
    journal notes;
    notes.note_restore(restored_two(), 2, 0, "");
    notes.note_request(llama::receipt{900, 300, 3s}, true); // 10 ms for a token
    CHECK(notes.reuse().restored_tokens_reused == 0);       // nobody knows whose it was
    notes.note_save("idle", saved(0, "in_slot"), [](int) { return one_turn(900, 300); });
    CHECK(notes.reuse().restored_tokens_reused == 900); // a part of the reply as well
    CHECK(near(notes.reuse().seconds_saved, 9));
    CHECK(notes.reuse().prompt_tokens_reused == 900);
    CHECK(notes.reuse().prompt_tokens_computed == 300);

    // Once only: what comes later llama-server kept by itself.
    notes.note_save("idle", saved(0, "in_slot"), [](int) { return one_turn(1200, 10); });
    CHECK(notes.reuse().restored_tokens_reused == 900);
}

TEST_CASE("tokens are priced when a price is known, and keep it") {
    journal notes;
    notes.note_restore(restored_two(), 2, 0, "");
    notes.note_request(llama::receipt{1000, 1, 500ms}, true); // a single token tells nothing
    notes.note_save("idle", saved(0, "in_slot"), [](int) { return one_turn(1000, 1); });
    CHECK(notes.reuse().restored_tokens_reused == 1000);
    CHECK(notes.reuse().seconds_saved == 0);
    notes.note_request(llama::receipt{0, 100, 1s}, true);
    CHECK(near(notes.reuse().seconds_saved, 10));
    notes.note_request(llama::receipt{0, 100, 100s}, true);
    CHECK(near(notes.reuse().seconds_saved, 10));
}

TEST_CASE("restores and saves are counted") {
    journal notes;
    notes.note_restore(restored_two(), 3, 2, "");
    auto report = saved(0);
    report.not_saved = 2;
    notes.note_save("stop", report, [](int) { return keeper::slot_turns(); });
    notes.note_eviction("least_recent");
    const auto& counts = notes.tallies();
    CHECK(counts.restores.at("restored") == 2);
    CHECK(counts.restores.at("not_restored") == 1);
    CHECK(counts.restores.at("skipped") == 2);
    CHECK(counts.saves.at({"stop", "saved"}) == 1);
    CHECK(counts.saves.at({"stop", "failed"}) == 2);
    CHECK(counts.evictions.at("least_recent") == 1);
    CHECK(counts.saved_bytes == 4096);
    CHECK(counts.restored_tokens == 1500);
    CHECK(counts.restore_seconds.count_up_to(counts.restore_seconds.bounds().size()) == 2);
    CHECK(near(counts.save_seconds.sum(), 0.005));
}

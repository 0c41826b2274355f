#include "llama_hibernate/keeper/restore_plan.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"

#include "catch.hpp"
#include "planned_snapshots.hpp"

using namespace hibernate;
using namespace hibernate::keeper;
using namespace hibernate::test;
using namespace std::chrono_literals;

TEST_CASE("the most recently saved snapshots get the slots, the largest goes first") {
    const auto plan = plan_restore(
        {snapshot("old", 9000, 1), snapshot("small", 100, 3, 0), snapshot("large", 500, 2, 1)},
        now_signature, {2, 10000});
    CHECK(steps_of(plan) == "large->1 small->0 ");
    REQUIRE(plan.spares.size() == 1);
    CHECK(plan.spares[0].manifest.id == "old");
    CHECK(describe_skipped(plan).empty()); // that is as it should be
    CHECK(describe_skipped_briefly(plan).empty());
}

TEST_CASE("no two snapshots share a slot, whatever slots they were saved from") {
    const auto plan = plan_restore(
        {snapshot("a", 3, 9, 0), snapshot("b", 2, 8, 0), snapshot("c", 1, 7, 99),
         snapshot("d", 4, 6, -1)},
        now_signature, {4, 0});
    CHECK(steps_of(plan) == "d->3 a->0 b->1 c->2 ");
}

TEST_CASE("another signature is skipped and explained, once for all") {
    auto other = snapshot("x", 100, 5);
    other.manifest.signature.parts["build"] = "b0";
    auto another = other;
    another.manifest.id = "y";
    const auto plan =
        plan_restore({other, another, snapshot("mine", 10, 1)}, now_signature, {4, 0});
    CHECK(steps_of(plan) == "mine->0 ");
    CHECK(describe_skipped(plan) == "skipped 2 snapshots (200 KiB): build b0, now b1");
}

TEST_CASE("each part that differs is told once, with how many snapshots it keeps out") {
    std::vector<store::snapshot> all;
    for (int i = 0; i != 3; ++i) {
        all.push_back(snapshot("b" + std::to_string(i), 100, i));
        all.back().manifest.signature.parts["build"] = "b0";
    }
    all.back().manifest.signature.parts["cache-type-k"] = "q8_0";
    all.push_back(snapshot("k", 100, 9));
    all.back().manifest.signature.parts["cache-type-k"] = "q8_0";
    CHECK(
        describe_skipped(plan_restore(all, now_signature, {4, 0})) ==
        "skipped 4 snapshots (400 KiB): build b0, now b1 (3); cache-type-k q8_0, now default (2)");
    CHECK(
        describe_skipped_briefly(plan_restore(all, now_signature, {4, 0})) ==
        "4 skipped: build differs (3); cache-type-k differs (2)");

    for (int i = 0; i != 20; ++i) {
        all[0].manifest.signature.parts["build"] = "old" + std::to_string(i);
        all.push_back(all[0]);
    }
    const auto line = describe_skipped(plan_restore(all, now_signature, {4, 0}));
    CHECK(line.find("; and 14 more reasons") != std::string::npos);
    // However many builds there were, they differ in one part.
    CHECK(
        describe_skipped_briefly(plan_restore(all, now_signature, {4, 0})) ==
        "24 skipped: build differs (23); cache-type-k differs (2)");
}

TEST_CASE("where only the format has to be the same, any build's snapshots are restored") {
    const store::signature format_only{{{"model", "abc"}, {"state-version", "4"}}};
    auto fit = snapshot("fit", 100, 1);
    fit.manifest.state_version = 4;
    fit.manifest.signature.parts["build"] = "b0";
    auto unfit = fit;
    unfit.manifest.id = "unfit";
    unfit.manifest.state_version = 3;
    const auto plan = plan_restore({fit, unfit}, format_only, {4, 0});
    CHECK(steps_of(plan) == "fit->0 ");
    CHECK(describe_skipped(plan) == "skipped 1 snapshot (100 KiB): state-version 3, now 4");
}

TEST_CASE("what does not fit into a slot's context is skipped") {
    const auto plan =
        plan_restore({snapshot("a", 101, 5), snapshot("b", 100, 4)}, now_signature, {4, 100});
    CHECK(steps_of(plan) == "b->0 ");
}

TEST_CASE("without slots nothing is restored") {
    CHECK(plan_restore({snapshot("a", 1, 1)}, now_signature, {0, 0}).steps.empty());
    CHECK(plan_restore({snapshot("a", 1, 1)}, now_signature, {-1, 0}).steps.empty());
}

TEST_CASE("slots are saved the fullest first; untouched and empty ones are not") {
    const std::vector<llama::slot> slots{
        {0, 100, false, 50}, {1, 100, false, 0}, {2, 100, false, std::nullopt}, {3, 100, true, 80}};
    const keeper::slot_table nothing_known;
    const auto plan = plan_save(slots, nothing_known, 1);
    REQUIRE(plan.size() == 2);
    CHECK(plan[0].id == 3);
    CHECK(plan[0].tokens == 80);
    CHECK(plan[1].id == 0);
    CHECK(plan_save({}, nothing_known, 1).empty());
    CHECK(plan_save(slots, nothing_known, 51).size() == 1);
    CHECK(keeper::count_too_short(slots, nothing_known, 51) == 1);
    CHECK(keeper::count_too_short(slots, nothing_known, 50) == 0);
    const auto blindly = plan_save_blindly(3);
    REQUIRE(blindly.size() == 3);
    CHECK(blindly[2].id == 2);
    CHECK_FALSE(blindly[2].tokens);
    CHECK(plan_save_blindly(-1).empty());
}

TEST_CASE("the slots that lose the most for the time of their save are saved first") {
    const std::vector<llama::slot> before{{0, 100, false, 900, 1}, {1, 100, false, 10, 1}};
    keeper::slot_table known;
    known.begin_with(before, {});
    const auto ids = [&](std::vector<llama::slot> slots) {
        std::vector<int> found;
        for (const auto& one : plan_save(slots, known, 1)) {
            found.push_back(one.id);
        }
        return found;
    };
    CHECK(ids({{0, 100, false, 1000, 2}, {1, 100, false, 90, 2}}) == std::vector{1, 0});
    CHECK(ids({{0, 100, false, 9000, 2}, {1, 100, false, 20, 2}}) == std::vector{0, 1});
    CHECK(ids({{0, 100, false, 900, 1}, {1, 100, false, 20, 2}}) == std::vector{1});
    CHECK(ids({{2, 100, false, 50, 1}, {3, 100, false, 60, 1}}) == std::vector{3, 2});
}

TEST_CASE("what was restored in vain twice in a row is not restored again") {
    auto all = std::vector{snapshot("a", 100, 1), snapshot("b", 100, 2)};
    all[0].manifest.missed = 1;
    CHECK(steps_of(plan_restore(all, now_signature, {4, 0})) == "b->0 a->1 ");
    all[0].manifest.missed = 2;
    const auto plan = plan_restore(all, now_signature, {4, 0});
    CHECK(steps_of(plan) == "b->0 ");
    CHECK(
        describe_skipped(plan) == "skipped 1 snapshot (100 KiB): twice in a row restored in vain");
    CHECK(describe_skipped_briefly(plan) == "1 skipped: restored in vain");
}

TEST_CASE("restores that were never of use are known from all snapshots of the model") {
    auto all = std::vector{snapshot("a", 100, 1), snapshot("b", 100, 2)};
    CHECK_FALSE(keeper::are_never_reused({}));
    CHECK_FALSE(keeper::are_never_reused(all));
    all[0].manifest.missed = 1;
    CHECK_FALSE(keeper::are_never_reused(all)); // may be a mishap
    all[1].manifest.missed = 1;
    CHECK(keeper::are_never_reused(all));
    all[1].manifest.reused = 1;
    CHECK_FALSE(keeper::are_never_reused(all));
}

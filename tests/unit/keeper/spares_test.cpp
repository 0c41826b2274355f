// Which snapshot takes the place of one that cannot be restored, and what fits beside what.

#include "catch.hpp"
#include "llama_hibernate/keeper/restore_plan.hpp"
#include "planned_snapshots.hpp"

using namespace hibernate;
using namespace hibernate::keeper;
using namespace hibernate::test;

TEST_CASE("the most recent snapshot without a slot takes the place of one that is unfit") {
    auto foreign = snapshot("foreign", 10, 8);
    foreign.manifest.signature.parts["build"] = "b0";
    auto plan = plan_restore(
        {snapshot("oldest", 1, 1), snapshot("old", 100, 2), snapshot("new", 50, 9, 1), foreign,
         snapshot("too long", 1001, 7)},
        now_signature, {1, 1000});
    REQUIRE(steps_of(plan) == "new->0 ");
    const auto unfit = plan.steps[0];

    auto step = take_spare(plan, unfit);
    REQUIRE(step);
    CHECK(step->snapshot.manifest.id == "old");
    CHECK(step->slot == 0);
    step = take_spare(plan, unfit);
    REQUIRE(step);
    CHECK(step->snapshot.manifest.id == "oldest");
    CHECK_FALSE(take_spare(plan, unfit));
}

TEST_CASE("slots that share their cells take no more than these together") {
    const std::vector<store::snapshot> all{
        snapshot("a", 600, 9, 0), snapshot("b", 500, 8, 1), snapshot("c", 400, 7, 2)};
    SECTION("shared") {
        auto plan = plan_restore(all, now_signature, {4, 1000, true});
        CHECK(steps_of(plan) == "a->0 c->2 ");
        REQUIRE(plan.skipped.size() == 1);
        CHECK(plan.skipped[0].id == "b");
        CHECK(describe_skipped(plan).find("share") != std::string::npos);
        // The room of the one that was to go there, and no more.
        CHECK_FALSE(take_spare(plan, plan.steps[1]));
        const auto step = take_spare(plan, plan.steps[0]);
        REQUIRE(step);
        CHECK(step->snapshot.manifest.id == "b");
    }
    SECTION("each with cells of its own") {
        CHECK(plan_restore(all, now_signature, {4, 1000}).steps.size() == 3);
    }
    SECTION("nobody knows how many") {
        CHECK(plan_restore(all, now_signature, {4, 0, true}).steps.size() == 3);
    }
}

constexpr std::uint64_t no_bound = std::uint64_t{1} << 60;

TEST_CASE("the latest is read ahead first, whatever it is for") {
    auto foreign = snapshot("foreign", 10, 5);
    foreign.manifest.signature.parts["build"] = "b0";
    CHECK(
        read_ahead_order({snapshot("old", 9, 1), snapshot("new", 1, 9), foreign}, no_bound) ==
        std::vector<std::string>{"new", "foreign", "old"});
    CHECK(read_ahead_order({}, no_bound).empty());
}

TEST_CASE("no more is read ahead than the memory can hold") {
    auto large = snapshot("large", 10, 5);
    large.manifest.bytes = 600;
    auto larger = snapshot("larger", 10, 4);
    larger.manifest.bytes = 500;
    CHECK(read_ahead_order({large, larger}, 1100) == std::vector<std::string>{"large", "larger"});
    CHECK(read_ahead_order({large, larger}, 1099) == std::vector<std::string>{"large"});
    CHECK(read_ahead_order({large, larger}, 599).empty());
}

TEST_CASE("the best spares that fit go into the RAM cache, the least of them first") {
    restore_plan plan;
    const auto add = [](const char* id, std::uint64_t bytes) {
        auto one = snapshot(id, 10, 1);
        one.manifest.bytes = bytes;
        return one;
    };
    plan.steps.push_back({add("in a slot", 100), 0});
    plan.spares = {add("best", 200), add("good", 300), add("old", 400)};
    const auto ids = [&](std::uint64_t max_bytes) {
        std::string text;
        for (const auto& one : plan_preload(plan, max_bytes)) {
            text += one.manifest.id + " ";
        }
        return text;
    };
    CHECK(ids(1000) == "old good best ");
    CHECK(ids(999) == "good best ");
    CHECK(ids(599) == "best ");
    CHECK(ids(299).empty());
    CHECK(ids(50).empty());
}

#include "llama_hibernate/keeper/restore_plan.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"

#include "catch.hpp"

using namespace hibernate;
using namespace hibernate::keeper;
using namespace std::chrono_literals;

namespace {

const store::signature now_signature{{{"model", "abc"}, {"build", "b1"}}};

store::snapshot snapshot(const std::string& id, std::uint64_t tokens, int saved_at, int slot = 0) {
    store::snapshot result;
    result.manifest.id = id;
    result.manifest.signature = now_signature;
    result.manifest.tokens = tokens;
    result.manifest.bytes = tokens * 1024;
    result.manifest.created = store::wall_time{} + std::chrono::milliseconds(saved_at);
    result.manifest.slot = slot;
    result.file_name = id + ".kv";
    return result;
}

std::string steps_of(const restore_plan& plan) {
    std::string text;
    for (const auto& step : plan.steps) {
        text += step.snapshot.manifest.id + "->" + std::to_string(step.slot) + " ";
    }
    return text;
}

} // namespace

TEST_CASE("the most recently saved snapshots get the slots, the largest goes first") {
    const auto plan = plan_restore(
        {snapshot("old", 9000, 1), snapshot("small", 100, 3, 0), snapshot("large", 500, 2, 1)},
        now_signature, {2, 10000});
    CHECK(steps_of(plan) == "large->1 small->0 ");
    REQUIRE(plan.skipped.size() == 1);
    CHECK(plan.skipped[0].id == "old");
    CHECK(describe_skipped(plan) == "skipped 1 snapshot (8.79 MiB): no slot left for it");
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

TEST_CASE("what does not fit into a slot's context is skipped") {
    const auto plan =
        plan_restore({snapshot("a", 101, 5), snapshot("b", 100, 4)}, now_signature, {4, 100});
    CHECK(steps_of(plan) == "b->0 ");
}

TEST_CASE("without slots nothing is restored") {
    CHECK(plan_restore({snapshot("a", 1, 1)}, now_signature, {0, 0}).steps.empty());
    CHECK(plan_restore({snapshot("a", 1, 1)}, now_signature, {-1, 0}).steps.empty());
}

TEST_CASE("surplus snapshots are the oldest of the same signature") {
    std::vector<store::snapshot> all;
    for (int i = 0; i != 10; ++i) {
        all.push_back(snapshot(std::to_string(i), 10, i));
    }
    auto foreign = snapshot("foreign", 10, 0);
    foreign.manifest.signature.parts["build"] = "b0";
    all.push_back(foreign);
    CHECK(surplus_snapshots(all, now_signature, 2) == std::vector<std::string>{"1", "0"});
    CHECK(surplus_snapshots(all, now_signature, 9) == std::vector<std::string>{"0"});
    CHECK(surplus_snapshots(all, now_signature, 64).empty());
}

TEST_CASE("slots are saved the fullest first; untouched and empty ones are not") {
    const std::vector<llama::slot> slots{
        {0, 100, false, 50}, {1, 100, false, 0}, {2, 100, false, std::nullopt}, {3, 100, true, 80}};
    CHECK(plan_save(slots) == std::vector<int>{3, 0});
    CHECK(plan_save({}).empty());
    CHECK(plan_save_blindly(3) == std::vector<int>{0, 1, 2});
    CHECK(plan_save_blindly(-1).empty());
}

#include "llama_hibernate/keeper/save_triggers.hpp"

#include <string_view>

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using namespace keeper;

namespace {

const slot_table::time_point start{};

/// A table of slots with so many tokens, each changed at the start.
slot_table changed(const std::vector<std::uint64_t>& tokens) {
    std::vector<llama::slot> slots;
    for (const auto count : tokens) {
        llama::slot one;
        one.id = static_cast<int>(slots.size());
        one.tokens = count;
        one.task = one.id + 1;
        slots.push_back(one);
    }
    slot_table table;
    table.observe(slots, start);
    return table;
}

} // namespace

TEST_CASE("triggers: nothing unsaved, nothing to do") {
    const auto answer = next_save(changed({}), {0, start}, {}, start + 1h);
    CHECK_FALSE(answer.now);
    CHECK_FALSE(answer.later);
    CHECK_FALSE(next_save(changed({255}), {0, start}, {}, start + 1h).later); // too small
}

TEST_CASE("triggers: an idle save comes when nothing was in flight for so long") {
    const auto table = changed({500, 900});
    const auto early = next_save(table, {0, start + 1s}, {}, start + 2s);
    CHECK_FALSE(early.now);
    CHECK(early.later == start + 4s);
    const auto due = next_save(table, {0, start + 1s}, {}, start + 4s);
    REQUIRE(due.now);
    CHECK(due.now->slot.id == 1);
    CHECK(due.now->reason == std::string_view("idle"));

    trigger_settings never;
    never.idle = 0ms;
    CHECK_FALSE(next_save(table, {0, start}, never, start + 1h).now);
    CHECK_FALSE(next_save(table, {0, start}, never, start + 1h).later);
}

TEST_CASE("triggers: a slot that grew by much is saved at once") {
    auto table = changed({9000});
    const auto due = next_save(table, {0, start}, {}, start);
    REQUIRE(due.now);
    CHECK(due.now->reason == std::string_view("growth"));
    table.saved(0, 8999, 1);
    llama::slot grown;
    grown.tokens = 8999 + 8191;
    grown.task = 2;
    table.observe({grown}, start);
    CHECK_FALSE(next_save(table, {0, start}, {}, start).now);
    *grown.tokens += 1;
    grown.task = 3;
    table.observe({grown}, start);
    CHECK(next_save(table, {0, start}, {}, start).now);
}

TEST_CASE("triggers: while requests are in flight only what waits for a minute is saved") {
    const auto table = changed({500, 90000});
    const auto early = next_save(table, {1, start}, {}, start + 59s);
    CHECK_FALSE(early.now);
    CHECK(early.later == start + 60s);
    const auto due = next_save(table, {1, start}, {}, start + 60s);
    REQUIRE(due.now);
    CHECK(due.now->reason == std::string_view("stale"));
}

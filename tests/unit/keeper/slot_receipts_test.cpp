#include "llama_hibernate/keeper/slot_receipts.hpp"

#include <limits>

#include "catch.hpp"

namespace hibernate {

using keeper::judge_restored;
using keeper::reuse;
using keeper::slot_receipts;
using keeper::slot_turns;
using llama::receipt;

namespace {

constexpr auto everything = std::numeric_limits<std::uint64_t>::max();

llama::slot idle(int id, std::int64_t task, std::uint64_t tokens = 1000) {
    llama::slot slot;
    slot.id = id;
    slot.task = task;
    slot.tokens = tokens;
    return slot;
}

llama::slot busy(int id, std::int64_t task) {
    auto slot = idle(id, task);
    slot.is_processing = true;
    return slot;
}

slot_turns turns(std::vector<slot_turns::turn> of) {
    return {std::move(of), true};
}

} // namespace

TEST_CASE("a receipt belongs to the slot whose task is a new one") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, 4)});
    receipts.observe({idle(0, -1), idle(1, 9)}, {receipt{700, 20}});
    REQUIRE(receipts.turns_of(1).turns.size() == 1);
    CHECK(receipts.turns_of(1).turns.front().receipt == receipt{700, 20});
    CHECK(receipts.turns_of(1).complete);
    CHECK(receipts.turns_of(0).turns.empty());
}

TEST_CASE("the receipts of one slot stand in their order, with what was computed before each") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});
    receipts.observe({idle(0, 1), idle(1, -1)}, {receipt{0, 500}});
    receipts.observe({idle(0, 1), idle(1, 2)}, {receipt{100, 40}});
    receipts.observe({idle(0, 3), idle(1, 2)}, {receipt{500, 30}});
    const auto first = receipts.turns_of(0);
    REQUIRE(first.turns.size() == 2);
    CHECK(first.turns[0].computed_before == 0);
    CHECK(first.turns[1].receipt == receipt{500, 30});
    CHECK(first.turns[1].computed_before == 540);
    CHECK(receipts.turns_of(1).turns.at(0).computed_before == 500);
}

TEST_CASE("a save takes the receipts with it") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1)});
    receipts.observe({idle(0, 1)}, {receipt{0, 500}});
    receipts.saved(0);
    CHECK(receipts.turns_of(0).turns.empty());
    receipts.observe({idle(0, 2)}, {receipt{500, 9}});
    CHECK(receipts.turns_of(0).turns.size() == 1);
}

TEST_CASE("whose receipt it is may not be known") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});

    SECTION("two requests ended in two slots") {
        receipts.observe({idle(0, 1), idle(1, 2)}, {receipt{0, 500}, receipt{0, 400}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK_FALSE(receipts.turns_of(1).complete);
    }
    SECTION("two ended, one after the other in one slot") {
        receipts.observe({idle(0, 2), idle(1, -1)}, {receipt{0, 500}, receipt{500, 40}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK(receipts.turns_of(1).complete);
    }
    SECTION("the client of one left before its end") {
        receipts.observe({idle(0, 1), idle(1, -1)}, {std::nullopt});
        CHECK_FALSE(receipts.turns_of(0).complete);
    }
    SECTION("what a client left behind ends later, beside another one") {
        receipts.observe({busy(0, 1), idle(1, -1)}, {std::nullopt});
        CHECK(receipts.turns_of(0).complete);
        receipts.observe({idle(0, 1), idle(1, 2)}, {receipt{0, 300}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK_FALSE(receipts.turns_of(1).complete);
    }
    SECTION("a request that needed no slot") {
        receipts.observe({idle(0, -1), idle(1, -1)}, {receipt{0, 500}});
        CHECK(receipts.turns_of(0).complete);
        CHECK(receipts.turns_of(0).turns.empty());
    }
    SECTION("a slot that nobody has seen") {
        CHECK_FALSE(receipts.turns_of(7).complete);
    }
}

TEST_CASE("a task that still runs gets the receipt of its own end") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});
    receipts.observe({busy(0, 1), idle(1, 2)}, {receipt{0, 300}});
    receipts.observe({idle(0, 1), idle(1, 2)}, {receipt{800, 5}});
    CHECK(receipts.turns_of(0).turns.at(0).receipt == receipt{800, 5});
    CHECK(receipts.turns_of(1).turns.at(0).receipt == receipt{0, 300});
}

TEST_CASE("a sleep, after which all is restored, begins anew") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1)});
    receipts.observe({idle(0, 1)}, {receipt{0, 500}});
    receipts.begin_with({idle(0, 3)});
    CHECK(receipts.turns_of(0).turns.empty());
    receipts.observe({idle(0, 4)}, {receipt{500, 9}});
    CHECK(receipts.turns_of(0).turns.at(0).computed_before == 0);
}

TEST_CASE("what the first request of a restored conversation says of it") {
    struct row {
        const char* what;
        slot_turns turns;
        reuse expected;
    };
    const auto cases = GENERATE_COPY(values<row>(
        {{"nobody asked", turns({}), reuse::unknown},
         {"all was reused", turns({{{1000, 20}, 0}}), reuse::reused},
         {"all but a checkpoint's rest", turns({{{980, 40}, 0}}), reuse::reused},
         {"half of it", turns({{{500, 520}, 0}}), reuse::reused},
         {"less than half of it", turns({{{499, 521}, 0}}), reuse::missed},
         {"nothing", turns({{{0, 1020}, 0}}), reuse::missed},
         {"nothing, and the next turn all of that", turns({{{0, 1020}, 0}, {{1020, 20}, 1020}}),
          reuse::missed},
         {"a small request ran in the slot before", turns({{{0, 300}, 0}, {{1000, 20}, 300}}),
          reuse::reused},
         {"only such", turns({{{0, 300}, 0}}), reuse::unknown},
         {"a receipt is missing", {{{{0, 1020}, 0}}, false}, reuse::unknown}}));
    INFO(cases.what);
    CHECK(judge_restored(cases.turns, 1000, everything) == cases.expected);
}

TEST_CASE("what the child had to give up meanwhile was not missed") {
    constexpr std::uint64_t kept = 5000;
    CHECK(judge_restored(turns({{{0, 1020}, 5000}}), 1000, kept) == reuse::missed);
    CHECK(judge_restored(turns({{{0, 1020}, 5001}}), 1000, kept) == reuse::unknown);
    CHECK(judge_restored(turns({{{1000, 20}, 5001}}), 1000, kept) == reuse::reused);
}

} // namespace hibernate

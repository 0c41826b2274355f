#include "llama_hibernate/keeper/slot_receipts.hpp"

#include "catch.hpp"

namespace hibernate {

using keeper::judge_restored;
using keeper::reuse;
using keeper::slot_receipts;
using keeper::slot_turns;
using llama::receipt;

namespace {

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

void observe(
    slot_receipts& into,
    const std::vector<llama::slot>& slots,
    const std::vector<std::optional<receipt>>& ended) {
    std::vector<keeper::ended_request> requests;
    for (const auto& one : ended) {
        requests.push_back({one, R"({"prompt":"a"})"});
    }
    into.observe(slots, requests, 0);
}

} // namespace

TEST_CASE("a receipt belongs to the slot whose task is a new one") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, 4)});
    observe(receipts, {idle(0, -1), idle(1, 9)}, {receipt{700, 20}});
    REQUIRE(receipts.turns_of(1).turns.size() == 1);
    CHECK(receipts.turns_of(1).turns.front().receipt == receipt{700, 20});
    CHECK(receipts.turns_of(1).complete);
    CHECK(receipts.turns_of(0).turns.empty());
}

TEST_CASE("the receipts of one slot stand in their order, and only the very first proves a miss") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});
    observe(receipts, {idle(0, 1), idle(1, -1)}, {receipt{0, 500}});
    observe(receipts, {idle(0, 1), idle(1, 2)}, {receipt{100, 40}});
    observe(receipts, {idle(0, 3), idle(1, 2)}, {receipt{500, 30}});
    const auto first = receipts.turns_of(0);
    REQUIRE(first.turns.size() == 2);
    CHECK(first.turns[0].proves_misses);
    CHECK(first.turns[1].receipt == receipt{500, 30});
    CHECK_FALSE(first.turns[1].proves_misses);
    CHECK_FALSE(receipts.turns_of(1).turns.at(0).proves_misses);
}

TEST_CASE("a save takes the receipts with it") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1)});
    observe(receipts, {idle(0, 1)}, {receipt{0, 500}});
    receipts.saved(0);
    CHECK(receipts.turns_of(0).turns.empty());
    observe(receipts, {idle(0, 2)}, {receipt{500, 9}});
    CHECK(receipts.turns_of(0).turns.size() == 1);
}

TEST_CASE("whose receipt it is may not be known") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});

    SECTION("two requests ended in two slots") {
        observe(receipts, {idle(0, 1), idle(1, 2)}, {receipt{0, 500}, receipt{0, 400}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK_FALSE(receipts.turns_of(1).complete);
    }
    SECTION("two ended, one after the other in one slot") {
        observe(receipts, {idle(0, 2), idle(1, -1)}, {receipt{0, 500}, receipt{500, 40}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK(receipts.turns_of(1).complete);
    }
    SECTION("the client of one left before its end") {
        observe(receipts, {idle(0, 1), idle(1, -1)}, {std::nullopt});
        CHECK_FALSE(receipts.turns_of(0).complete);
    }
    SECTION("what a client left behind ends later, beside another one") {
        observe(receipts, {busy(0, 1), idle(1, -1)}, {std::nullopt});
        CHECK(receipts.turns_of(0).complete);
        observe(receipts, {idle(0, 1), idle(1, 2)}, {receipt{0, 300}});
        CHECK_FALSE(receipts.turns_of(0).complete);
        CHECK_FALSE(receipts.turns_of(1).complete);
    }
    SECTION("a request that needed no slot") {
        observe(receipts, {idle(0, -1), idle(1, -1)}, {receipt{0, 500}});
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
    observe(receipts, {busy(0, 1), idle(1, 2)}, {receipt{0, 300}});
    observe(receipts, {idle(0, 1), idle(1, 2)}, {receipt{800, 5}});
    CHECK(receipts.turns_of(0).turns.at(0).receipt == receipt{800, 5});
    CHECK(receipts.turns_of(1).turns.at(0).receipt == receipt{0, 300});
}

TEST_CASE("a sleep, after which all is restored, begins anew") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1)});
    observe(receipts, {idle(0, 1)}, {receipt{0, 500}});
    receipts.begin_with({idle(0, 3)});
    CHECK(receipts.turns_of(0).turns.empty());
    observe(receipts, {idle(0, 4)}, {receipt{500, 9}});
    CHECK(receipts.turns_of(0).turns.at(0).proves_misses);
}

TEST_CASE("a request that chooses its slot, or wants nothing reused, proves nothing") {
    for (const char* body : {R"({"id_slot": 1})", R"({"cache_prompt":false})"}) {
        slot_receipts receipts;
        receipts.begin_with({idle(0, -1)});
        receipts.observe({idle(0, 1)}, {{receipt{0, 500}, body}}, 0);
        CHECK_FALSE(receipts.turns_of(0).turns.at(0).proves_misses);
    }
}

TEST_CASE("which request a slot's content is of") {
    slot_receipts receipts;
    receipts.begin_with({idle(0, -1), idle(1, -1)});
    const keeper::ended_request a{receipt{0, 500}, "a"};
    const keeper::ended_request left{std::nullopt, "left"};

    SECTION("it brought its receipt, while others go on") {
        receipts.observe({idle(0, 1), busy(1, 2)}, {a}, 1);
        CHECK(receipts.body_start_of(0, 1) == "a");
        CHECK(receipts.body_start_of(0, 3).empty());
        CHECK(receipts.body_start_of(1, 2).empty());
    }
    SECTION("its client left, and it still runs, or not any more") {
        receipts.observe({GENERATE(busy(0, 1), idle(0, 1)), idle(1, -1)}, {left}, 0);
        CHECK(receipts.body_start_of(0, 1) == "left");
        receipts.observe({idle(0, 1), idle(1, -1)}, {}, 0);
        CHECK(receipts.body_start_of(0, 1) == "left");
    }
    SECTION("one that needed no slot ended while another one went on") {
        receipts.observe({busy(0, 1), idle(1, -1)}, {left}, 1);
        CHECK(receipts.body_start_of(0, 1).empty());
        receipts.observe({idle(0, 1), idle(1, -1)}, {a}, 0);
        CHECK(receipts.body_start_of(0, 1) == "a");
    }
    SECTION("two ended") {
        receipts.observe({idle(0, 1), idle(1, 2)}, {a, a}, 0);
        CHECK(receipts.body_start_of(0, 1).empty());
    }
}

TEST_CASE("what the first request of a restored conversation says of it") {
    struct row {
        const char* what;
        slot_turns turns;
        reuse expected;
    };
    constexpr bool first = true;
    const auto cases = GENERATE_COPY(values<row>(
        {{"nobody asked", turns({}), reuse::unknown},
         {"all was reused", turns({{{1000, 20}, false}}), reuse::reused},
         {"all but a checkpoint's rest", turns({{{980, 40}, first}}), reuse::reused},
         {"half of it", turns({{{500, 520}, first}}), reuse::reused},
         {"less than half of it, as much as another one has", turns({{{499, 521}, first}}),
          reuse::unknown},
         {"nothing", turns({{{0, 1020}, first}}), reuse::missed},
         {"the same prompt again", turns({{{0, 1000}, first}}), reuse::unknown},
         {"nothing but what all have", turns({{{64, 956}, first}}), reuse::missed},
         {"nothing, after others ran", turns({{{0, 1020}, false}}), reuse::unknown},
         {"nothing, and the next turn all of that",
          turns({{{0, 1020}, first}, {{1020, 20}, false}}), reuse::missed},
         {"another one ran in the slot before, and was not saved",
          turns({{{0, 6400}, first}, {{1000, 20}, false}}), reuse::reused},
         {"and had the same beginning", turns({{{0, 1200}, first}, {{1000, 200}, false}}),
          reuse::reused},
         {"a small request ran in the slot before", turns({{{0, 300}, first}, {{1000, 20}, false}}),
          reuse::reused},
         {"only such", turns({{{0, 300}, first}}), reuse::unknown},
         {"a receipt is missing", {{{{0, 1020}, first}}, false}, reuse::unknown}}));
    INFO(cases.what);
    CHECK(judge_restored(cases.turns, 1000) == cases.expected);
}

TEST_CASE("what the first request beyond a restored snapshot found is told") {
    const slot_turns turns{{{{900, 200}, true}, {{1100, 20}, false}}, true};
    CHECK(keeper::reused_of_restored(turns, 1000) == 900);
    CHECK(keeper::reused_of_restored(turns, 5000) == 0);
    CHECK(keeper::reused_of_restored({turns.turns, false}, 1000) == 0);
}

} // namespace hibernate

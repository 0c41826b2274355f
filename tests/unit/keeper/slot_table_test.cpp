#include "llama_hibernate/keeper/slot_table.hpp"

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using keeper::slot_table;

namespace {

const slot_table::time_point start{};

llama::slot
slot(int id, std::optional<std::uint64_t> tokens, std::int64_t task, bool processing = false) {
    llama::slot one;
    one.id = id;
    one.tokens = tokens;
    one.task = task;
    one.is_processing = processing;
    return one;
}

std::vector<int> unsaved(const slot_table& table, std::uint64_t min_tokens = 1) {
    std::vector<int> ids;
    for (const auto& one : table.unsaved(min_tokens)) {
        ids.push_back(one.id);
    }
    return ids;
}

} // namespace

TEST_CASE("slots that ran no task have nothing to save, whatever was restored into them") {
    slot_table table;
    table.observe({slot(0, std::nullopt, -1), slot(1, std::nullopt, -1)}, start);
    CHECK(unsaved(table).empty());
}

TEST_CASE("a slot is unsaved from the task that ran in it until it is saved") {
    slot_table table;
    table.observe({slot(0, 500, 7)}, start);
    CHECK(unsaved(table) == std::vector<int>{0});
    CHECK_FALSE(table.is_saved(slot(0, 500, 7)));
    table.saved(0, 500, 7);
    CHECK(unsaved(table).empty());
    CHECK(table.is_saved(slot(0, 500, 7)));
    table.observe({slot(0, 500, 7)}, start + 1s);
    CHECK(unsaved(table).empty());
    table.observe({slot(0, 520, 8)}, start + 2s);
    CHECK(unsaved(table) == std::vector<int>{0});
    CHECK_FALSE(table.is_saved(slot(0, 520, 8)));
    CHECK(table.unsaved(1)[0].saved_tokens == 500);
    CHECK(table.unsaved(1)[0].changed_at == start + 2s);
}

TEST_CASE("a task that ran while the slot was saved is not saved with it") {
    slot_table table;
    table.observe({slot(0, 500, 7)}, start);
    table.observe({slot(0, 600, 8)}, start);
    table.saved(0, 500, 7);
    CHECK(unsaved(table) == std::vector<int>{0});
}

TEST_CASE("a slot that is working, small or empty is not to be saved") {
    slot_table table;
    table.observe({slot(0, 500, 7, true), slot(1, 20, 8), slot(2, 400, 9)}, start);
    CHECK(unsaved(table, 256) == std::vector<int>{2});
    table.observe({slot(0, 500, 7), slot(1, 20, 8), slot(2, 0, 9)}, start);
    CHECK(unsaved(table, 256) == std::vector<int>{0});
    CHECK_FALSE(table.any_processing());
}

TEST_CASE("what gained the most comes first, and waits since its first change") {
    slot_table table;
    table.observe({slot(0, 5000, 1), slot(1, 4000, 2)}, start);
    table.saved(0, 4900, 1);
    table.observe({slot(0, 5000, 3), slot(1, 4100, 4)}, start + 5s);
    CHECK(unsaved(table) == std::vector<int>{1, 0});
    CHECK(table.unsaved(1)[0].changed_at == start);
}

TEST_CASE("a save that failed is tried again when it is the last chance, or after a change") {
    slot_table table;
    table.observe({slot(0, 500, 7)}, start);
    table.failed(0, 7);
    CHECK(unsaved(table).empty());
    CHECK(table.unsaved(1, slot_table::failures::with).size() == 1);
    CHECK_FALSE(table.is_saved(slot(0, 500, 7)));
    table.observe({slot(0, 510, 8)}, start);
    CHECK(unsaved(table) == std::vector<int>{0});
    table.failed(0, 7); // late news
    CHECK(unsaved(table) == std::vector<int>{0});
}

TEST_CASE("what was restored is on disk, whatever task pushed it about") {
    slot_table table;
    table.observe({slot(5, 900, 3)}, start);
    table.begin_with({slot(0, 500, 4), slot(1, std::nullopt, -1)}, start);
    CHECK(unsaved(table).empty());
    CHECK(table.is_saved(slot(0, 500, 4)));
    table.observe({slot(0, 520, 5), slot(1, std::nullopt, -1)}, start);
    CHECK(unsaved(table) == std::vector<int>{0});
}

TEST_CASE("the latest slot is the one with the latest task") {
    slot_table table;
    CHECK(table.latest_slot() == -1);
    table.observe({slot(0, std::nullopt, -1)}, start);
    CHECK(table.latest_slot() == -1);
    table.observe({slot(0, 10, 8), slot(1, 10, 12, true), slot(2, 10, 9)}, start);
    CHECK(table.latest_slot() == 1);
    CHECK(table.any_processing());
    CHECK(table.any_idle());
}

TEST_CASE("a child that forgot its tasks has slept") {
    slot_table table;
    CHECK_FALSE(table.was_forgotten({slot(0, std::nullopt, -1)}));
    table.observe({slot(0, 500, 7), slot(1, std::nullopt, -1)}, start);
    CHECK_FALSE(table.was_forgotten({slot(0, 500, 7), slot(1, std::nullopt, -1)}));
    CHECK(table.was_forgotten({slot(0, std::nullopt, -1), slot(1, std::nullopt, -1)}));
}

#include "llama_hibernate/commands/listing.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "llama_hibernate/commands/selection.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using namespace hibernate::commands;
using hibernate::store::take_inventory;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t bound = std::uint64_t{16} << 30;

std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("an empty store is one line") {
    virtual_disk disk;
    const auto table = list_as_table(take_inventory(disk, store_root), store_root, bound, at(0));
    CHECK(table == "0 snapshots in /cache, 0 B of at most 16.0 GiB\n");
}

TEST_CASE("the table has a line for each snapshot with what a user asks for") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 100, [](auto& one) {
        one.pinned = true;
        one.uses = 7;
        one.reused = 5;
    });
    put_snapshot(disk, own_directory, 'b', 1000, 200, [](auto& one) {
        one.quarantine = "its checksum differs";
    });
    put_snapshot(disk, other_directory, 'c', 1000, 3, [](auto& one) { one.bytes = 1; });
    put_snapshot(disk, own_directory, 'd', 1000, 50);
    put_snapshot(
        disk, own_directory, 'e', 1000, 300, [](auto& one) { one.supersedes = {id_of('d')}; });
    disk.put(store_path / (id_of('f') + ".json"), "{}");
    disk.put(store_path / (id_of('f') + ".kv"), "x");
    disk.put(std::filesystem::path(store_root) / "notes.txt", "mine");
    disk.put(store_path / "staging-1-1.kv", "half");
    const auto stored = take_inventory(disk, store_root);

    const auto table = list_as_table(stored, store_root, bound, at(100 + 3 * 3600));
    INFO(table);
    CHECK(count_lines(table) == 8);
    CHECK(has(table, id_of('a') + "  tiny"));
    CHECK(has(table, "  3 h     7       5  ready, pinned\n"));
    CHECK(has(table, "quarantined: its checksum differs\n"));
    CHECK(has(table, "broken: its state file has 1000 bytes, but 1 were saved\n"));
    CHECK(has(table, "superseded\n"));
    CHECK(has(table, "6 snapshots in /cache, "));
    CHECK(has(table, "1 file (4 B) of saves that were cut off or are under way"));
    CHECK(has(table, "1 file or folder (4 B) not ours"));
    CHECK(table.find(id_of('e')) < table.find(id_of('b'))); // the latest first

    const auto json = nlohmann::json::parse(list_as_json(stored, store_root, bound));
    CHECK(json["snapshots"].size() == 6);
    CHECK(json["bytes"] == stored.bytes);
    CHECK(json["foreign"]["count"] == 1);
    for (const auto& one : json["snapshots"]) {
        if (one["id"] == id_of('a')) {
            CHECK(one["pinned"] == true);
            CHECK(one["uses"] == 7);
            CHECK(one["reused"] == 5);
            CHECK(one["tokens"] == 100);
            CHECK(one["state"] == "ready");
            CHECK(one["created"] == "1970-01-01T00:01:40Z");
        }
        if (one["id"] == id_of('d')) {
            CHECK(one["superseded_by"] == id_of('e'));
        }
    }
}

TEST_CASE("a snapshot that is not restored any more is called retired") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 100, [](auto& one) { one.missed = 2; });
    const auto stored = take_inventory(disk, store_root);
    CHECK(has(list_as_table(stored, store_root, bound, at(100)), "  retired\n"));
    const auto json = nlohmann::json::parse(list_as_json(stored, store_root, bound));
    CHECK(json["snapshots"][0]["state"] == "retired");
    CHECK(json["snapshots"][0]["missed"] == 2);
}

TEST_CASE("names that would do something to a terminal are harmless in the table") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 100, [](auto& one) {
        one.model_name = "\x1b[31mevil\nname";
    });
    const auto stored = take_inventory(disk, store_root);
    const auto table = list_as_table(stored, store_root, bound, at(100));
    CHECK(count_lines(table) == 3);
    CHECK(table.find('\x1b') == std::string::npos);
    CHECK(nlohmann::json::parse(list_as_json(stored, store_root, bound)).is_object());
}

TEST_CASE("ages are in one unit, and never negative") {
    const auto age = [](std::chrono::milliseconds time) { return format_age(at(0), at(0) + time); };
    CHECK(age(-5s) == "0 s");
    CHECK(age(119s) == "119 s");
    CHECK(age(120s) == "2 min");
    CHECK(age(119min) == "119 min");
    CHECK(age(2h) == "2 h");
    CHECK(age(47h) == "47 h");
    CHECK(age(48h) == "2 d");
}

TEST_CASE("a snapshot is named by the beginning of its id, or its directory and that") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    put_snapshot(disk, other_directory, 'a', 1000, 1);
    put_snapshot(disk, own_directory, 'b', 1000, 1);
    disk.put(store_path / "staging-1-1.kv", "half");
    const auto stored = take_inventory(disk, store_root);
    const auto select = [&](std::vector<std::string> wanted) {
        return select_by_ids(stored, store_root, wanted);
    };
    REQUIRE(select({"b"}).items.size() == 1);
    CHECK(select({"b"}).items[0]->id == id_of('b'));
    CHECK(select({id_of('b'), "bbb"}).items.size() == 1); // once
    CHECK(select({"a"}).items.empty());
    CHECK(has(select({"a"}).problem, "the beginning of 2 ids"));
    CHECK(select({"zzz"}).problem == "there is no snapshot zzz in /cache");
    REQUIRE(select({own_directory + "/a"}).items.size() == 1);
    CHECK(select({own_directory + "/a"}).items[0]->directory == own_directory);
    for (const char* none : {"", "c", "staging", "../a", "/"}) {
        CHECK(select({none}).items.empty());
        CHECK_FALSE(select({none}).problem.empty());
    }
}

TEST_CASE("all of a model are meant by any of its names, but not those that are pinned") {
    virtual_disk disk;
    const auto set_model = [](auto& one) {
        one.model_name = "tiny.gguf";
        one.model_path = "/models/tiny.gguf";
    };
    put_snapshot(disk, own_directory, 'a', 1000, 1, set_model);
    put_snapshot(disk, own_directory, 'b', 1000, 1, [&](auto& one) {
        set_model(one);
        one.pinned = true;
    });
    put_snapshot(disk, other_directory, 'c', 1000, 1);
    const auto stored = take_inventory(disk, store_root);
    for (const std::string name : {"tiny", "tiny.gguf", "/models/tiny.gguf", "tiny-0a1b2c3d"}) {
        const auto selected = select_unpinned(stored, name);
        REQUIRE(selected.items.size() == 1);
        CHECK(selected.items[0]->id == id_of('a'));
        CHECK(selected.pinned == 1);
    }
    CHECK(select_unpinned(stored, "").items.size() == 2);
    CHECK(select_unpinned(stored, "tin").items.empty());
}

#include "llama_hibernate/store/snapshot_changes.hpp"

#include <nlohmann/json.hpp>

#include "captured_log.hpp"
#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using namespace hibernate::store;
namespace errc = boost::system::errc;

namespace {

nlohmann::json manifest_of(const virtual_disk& disk, char digit) {
    return nlohmann::json::parse(disk.content(store_path / (id_of(digit) + ".json")));
}

} // namespace

TEST_CASE("a pin and its end change nothing else") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    const auto before = manifest_of(disk, 'a');
    REQUIRE_FALSE(set_pinned(disk, store_path, id_of('a'), true));
    auto pinned = manifest_of(disk, 'a');
    CHECK(pinned["pinned"] == true);
    pinned["pinned"] = false;
    CHECK(pinned == before);
    REQUIRE_FALSE(set_pinned(disk, store_path, id_of('a'), false));
    CHECK(manifest_of(disk, 'a') == before);
}

TEST_CASE("what is released from quarantine is offered again") {
    captured_log lines;
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    directory->quarantine(id, "llama-server died while it was restored");
    REQUIRE(directory->snapshots().empty());
    REQUIRE_FALSE(lift_quarantine(disk, store_path, id));
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
}

TEST_CASE("of what is not there nothing can be changed, and a damaged manifest is left as it is") {
    virtual_disk disk;
    CHECK(set_pinned(disk, store_path, id_of('a'), true) == errc::no_such_file_or_directory);
    const auto file = store_path / (id_of('b') + ".json");
    disk.put(file, "{");
    CHECK(lift_quarantine(disk, store_path, id_of('b')) == errc::no_such_file_or_directory);
    CHECK(disk.content(file) == "{");
}

TEST_CASE("a daemon and a command do not undo each other's changes") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(set_pinned(disk, store_path, id, true));
    REQUIRE_FALSE(directory->make_durable(id));
    REQUIRE_FALSE(directory->note_restored(id, at(5)));
    const auto found = directory->snapshots();
    REQUIRE(found.size() == 1);
    CHECK(found[0].manifest.pinned);
    CHECK(found[0].manifest.synced);
    CHECK(found[0].manifest.uses == 1);
}

TEST_CASE("a longer snapshot inherits the pin and the uses of those that it supersedes") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(directory->note_restored(id, at(5)));
    REQUIRE_FALSE(set_pinned(disk, store_path, id, true));
    const auto longer = publish(disk, *directory, token_run(1, 20)).published->manifest;
    CHECK(longer.pinned);
    CHECK(longer.uses == 1);
    const auto another = publish(disk, *directory, token_run(500, 20)).published->manifest;
    CHECK_FALSE(another.pinned);
    CHECK(another.uses == 0);
}

TEST_CASE("a pin that comes while the longer snapshot is published reaches it") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto longer = publish(disk, *directory, token_run(1, 20)).published->manifest.id;
    // Whoever read the list before that means the old one.
    REQUIRE_FALSE(set_pinned(disk, store_path, id, true));
    CHECK(store_path.string() == directory->path());
    REQUIRE(directory->snapshots().size() == 1);
    CHECK(directory->snapshots()[0].manifest.id == longer);
    CHECK(directory->snapshots()[0].manifest.pinned);
    REQUIRE_FALSE(directory->make_durable(longer));
    CHECK_FALSE(set_pinned(disk, store_path, id, false)); // it is gone, and its list is known
    CHECK_FALSE(directory->snapshots()[0].manifest.pinned);
}

TEST_CASE("what a removed snapshot superseded goes with it, unless it is pinned itself") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto longer = publish(disk, *directory, token_run(1, 20)).published->manifest.id;
    const auto file = store_path / (id + ".json");
    const bool pinned = GENERATE(true, false);
    auto manifest = nlohmann::json::parse(disk.content(file));
    manifest["pinned"] = pinned;
    disk.put(file, manifest.dump());
    REQUIRE_FALSE(erase(disk, longer));
    CHECK(directory->snapshots().size() == (pinned ? 1 : 0));
}

TEST_CASE("a snapshot that is saved after the clock was set back is the latest all the same") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    auto save = stage(disk, *directory, token_run(1, 9));
    const auto first = directory->publish(save, at(100'000)).published->manifest;
    save = stage(disk, *directory, token_run(500, 9));
    const auto second = directory->publish(save, at(10)).published->manifest;
    CHECK(second.created > first.created);
    CHECK(second.last_used > first.last_used);
}

TEST_CASE("a snapshot that claims to supersede itself is there") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto file = store_path / (id + ".json");
    auto manifest = nlohmann::json::parse(disk.content(file));
    manifest["supersedes"] = {id};
    disk.put(file, manifest.dump());
    CHECK(directory->snapshots().size() == 1);
}

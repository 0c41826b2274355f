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

#include "llama_hibernate/store/collection.hpp"

#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using hibernate::store::collect_garbage;

namespace {

constexpr std::uint64_t no_bound = std::uint64_t{1} << 60;

/// A sound snapshot, one in quarantine, one whose file is too short, a staging file, and a file of
/// somebody else's, in the directory of a model that is not there.
void fill(virtual_disk& disk) {
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    put_snapshot(disk, own_directory, 'b', 1000, 2, [](auto& one) { one.quarantine = "why"; });
    put_snapshot(disk, own_directory, 'c', 1000, 3, [](auto& one) { one.bytes = 2000; });
    disk.put(store_path / "staging-1-2.kv", "half");
    disk.put(store_path / "notes.txt", "mine");
}

} // namespace

TEST_CASE("a collection removes what can never be restored, and nothing else") {
    virtual_disk disk;
    fill(disk);
    const auto done = collect_garbage(disk, store_root, no_bound, false);
    CHECK(done.removed.size() == 3);
    CHECK(done.problems.empty());
    CHECK(done.enough);
    CHECK(is_stored(disk, own_directory, 'a'));
    CHECK_FALSE(is_stored(disk, own_directory, 'b'));
    CHECK_FALSE(is_stored(disk, own_directory, 'c'));
    CHECK_FALSE(disk.exists(store_path / "staging-1-2.kv"));
    CHECK(disk.exists(store_path / "notes.txt"));
    CHECK(collect_garbage(disk, store_root, no_bound, false).removed.empty());
}

TEST_CASE("a dry run tells the same and removes nothing") {
    virtual_disk disk;
    fill(disk);
    const auto names = disk.names(store_path);
    const auto told = collect_garbage(disk, store_root, 0, true);
    const auto after = disk.names(store_path);
    CHECK(std::includes(after.begin(), after.end(), names.begin(), names.end()));
    const auto done = collect_garbage(disk, store_root, 0, false);
    CHECK(told.removed.size() == done.removed.size());
    CHECK(told.freed_bytes == done.freed_bytes);
    CHECK(told.left_bytes == done.left_bytes);
}

TEST_CASE("a bound takes the least recently used, but not what is pinned") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 10'000, 1, [](auto& one) { one.pinned = true; });
    put_snapshot(disk, own_directory, 'b', 10'000, 2);
    put_snapshot(disk, other_directory, 'c', 10'000, 3);
    const auto done = collect_garbage(disk, store_root, 25'000, false);
    CHECK(done.enough);
    CHECK(is_stored(disk, own_directory, 'a'));
    CHECK_FALSE(is_stored(disk, own_directory, 'b'));
    CHECK(is_stored(disk, other_directory, 'c'));

    SECTION("if the bound cannot be kept, nothing sound goes") {
        const auto again = collect_garbage(disk, store_root, 5'000, false);
        CHECK_FALSE(again.enough);
        CHECK(again.removed.empty());
        CHECK(is_stored(disk, other_directory, 'c'));
    }
}

TEST_CASE("where a daemon runs nothing is removed") {
    virtual_disk disk;
    put_snapshot(disk, other_directory, 'c', 1000, 3);
    fill(disk);
    const auto daemon = disk.try_lock(store_path / "lock");
    REQUIRE(daemon);
    const auto done = collect_garbage(disk, store_root, 0, false);
    CHECK(done.left_alone == std::set<std::string>{own_directory});
    CHECK_FALSE(done.enough);
    CHECK(done.removed.empty());
    CHECK(disk.exists(store_path / "staging-1-2.kv")); // a save may be under way
}

TEST_CASE("what cannot be removed is told, and the rest goes all the same") {
    virtual_disk disk;
    fill(disk);
    disk.fail_path(
        store_path / "staging-1-2.kv",
        boost::system::errc::make_error_code(boost::system::errc::permission_denied));
    const auto done = collect_garbage(disk, store_root, no_bound, false);
    REQUIRE(done.problems.size() == 1);
    CHECK(done.problems[0].find("staging-1-2.kv") != std::string::npos);
    CHECK(done.removed.size() == 2);
}

TEST_CASE("what may be sound is not collected, whatever the bound") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    disk.fail_path(
        store_path / (id_of('a') + ".json"),
        boost::system::errc::make_error_code(boost::system::errc::io_error));
    const auto done = collect_garbage(disk, store_root, 0, false);
    CHECK(done.removed.empty());
    CHECK_FALSE(done.enough);
    CHECK(disk.exists(store_path / (id_of('a') + ".kv")));
}

#include "llama_hibernate/store/stop_record.hpp"

#include "catch.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/reserved_name.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate;
using namespace hibernate::test;
using namespace std::chrono_literals;

TEST_CASE("a stop is told to the next start as it was") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 100);
    const auto directory = std::filesystem::path(store_root) / own_directory;
    CHECK_FALSE(store::read_stop_record(disk, directory));
    const store::stop_record record{at(7), 2, 3014, 6'230'016, 120ms, 1, 4s, true};
    REQUIRE_FALSE(store::write_stop_record(disk, directory, record));
    CHECK(store::read_stop_record(disk, directory) == record);

    // The file is ours: clients may not write it, and nobody counts it as foreign.
    CHECK(store::is_reserved_name("stopped"));
    CHECK(store::is_reserved_name("Stopped.tmp"));
    CHECK(store::take_inventory(disk, store_root).items.size() == 1);
}

TEST_CASE("what is no record of a stop counts as none") {
    virtual_disk disk;
    const std::filesystem::path directory = "/cache/tiny-00000000";
    REQUIRE_FALSE(disk.create_private_directory(directory));
    for (const char* text : {"", "[]", "{", "{}", "null"}) {
        CAPTURE(text);
        REQUIRE_FALSE(disk.replace(directory / "stopped", text, hibernate::when_synced::later));
        CHECK_FALSE(store::read_stop_record(disk, directory));
    }
    REQUIRE_FALSE(disk.replace(
        directory / "stopped", R"({"ended":-1,"tokens":"x","bytes":1e300})",
        hibernate::when_synced::later));
    CHECK(store::read_stop_record(disk, directory) == store::stop_record());
}

#include "llama_hibernate/store/adoption_record.hpp"

#include "catch.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/reserved_name.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate;
using namespace hibernate::test;

TEST_CASE("what came of a file is told to the next start as it was") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 100);
    const auto directory = std::filesystem::path(store_root) / own_directory;
    CHECK(store::read_adoption_record(disk, directory).empty());
    const store::adoption_record record{
        {"/slots/0.bin", {"1:2 300 bytes 4.5", "abcd", "adopted"}},
        {"/slots/1.bin", {"1:3 400 bytes 4.5", "abcd", "another model wrote it"}}};
    REQUIRE_FALSE(store::write_adoption_record(disk, directory, record));
    CHECK(store::read_adoption_record(disk, directory) == record);

    // The file is ours: clients may not write it, and nobody counts it as foreign.
    CHECK(store::is_reserved_name("adopted"));
    CHECK(store::is_reserved_name("Adopted.tmp"));
    CHECK(store::take_inventory(disk, store_root).items.size() == 1);
}

TEST_CASE("what is no record of adoptions counts as none") {
    virtual_disk disk;
    const std::filesystem::path directory = "/cache/tiny-00000000";
    REQUIRE_FALSE(disk.create_private_directory(directory));
    for (const char* text : {"", "[]", "{", "{}", "null", R"({"a":1,"b":[],"c":"d"})"}) {
        CAPTURE(text);
        REQUIRE_FALSE(disk.replace(directory / "adopted", text, when_synced::later));
        CHECK(store::read_adoption_record(disk, directory).empty());
    }
    REQUIRE_FALSE(
        disk.replace(directory / "adopted", R"({"a":{"version":7}})", when_synced::later));
    CHECK(store::read_adoption_record(disk, directory) == store::adoption_record{{"a", {}}});
}

TEST_CASE("a path that is no UTF-8 is no reason to note nothing") {
    virtual_disk disk;
    const std::filesystem::path directory = "/cache/tiny-00000000";
    REQUIRE_FALSE(disk.create_private_directory(directory));
    REQUIRE_FALSE(
        store::write_adoption_record(disk, directory, {{"/\xff/0.bin", {"v", "s", "o"}}}));
    CHECK(store::read_adoption_record(disk, directory).size() == 1);
}

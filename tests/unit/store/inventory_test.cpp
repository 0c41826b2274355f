#include "llama_hibernate/store/inventory.hpp"

#include "catch.hpp"
#include "llama_hibernate/store/directory_name.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using hibernate::store::inventory;
using hibernate::store::is_directory_name;
using hibernate::store::measure;
using hibernate::store::stored_item;
using hibernate::store::take_inventory;

namespace {

const std::filesystem::path other_path = std::filesystem::path(store_root) / other_directory;

std::string kind_name(stored_item::kind kind) {
    switch (kind) {
    case stored_item::kind::snapshot:
        return "snapshot";
    case stored_item::kind::quarantined:
        return "quarantined";
    case stored_item::kind::broken:
        return "broken";
    case stored_item::kind::unreadable:
        return "unreadable";
    case stored_item::kind::leftover:
        return "leftover";
    case stored_item::kind::foreign:
        return "foreign";
    }
    return {};
}

/// "snapshot tiny-0a1b2c3d aaaaaaaaaaaaaaaa.json+aaaaaaaaaaaaaaaa.kv", a line for each item.
std::vector<std::string> lines_of(const inventory& stored) {
    std::vector<std::string> lines;
    for (const auto& item : stored.items) {
        auto line = kind_name(item.what) + " " + item.directory + " ";
        for (const auto& name : item.file_names) {
            line += (&name == &item.file_names.front() ? "" : "+") + name;
        }
        lines.push_back(line);
    }
    return lines;
}

/// The one item of a store with one snapshot that was changed.
stored_item
only_item(virtual_disk& disk, const std::function<void(hibernate::store::manifest&)>& change) {
    put_snapshot(disk, own_directory, 'a', 500, 1, change);
    const auto stored = take_inventory(disk, store_root);
    REQUIRE(stored.items.size() == 1);
    return stored.items.front();
}

} // namespace

TEST_CASE("the snapshots of all models are in the inventory, with their sizes") {
    virtual_disk disk;
    disk.set_free_space(12345);
    put_snapshot(disk, own_directory, 'b', 700, 1);
    put_snapshot(disk, own_directory, 'a', 500, 2);
    put_snapshot(disk, other_directory, 'c', 900, 3);
    disk.put(store_path / "lock", "");
    const auto stored = take_inventory(disk, store_root);
    CHECK(
        lines_of(stored) ==
        std::vector<std::string>{
            "snapshot other-11111111 cccccccccccccccc.json+cccccccccccccccc.kv",
            "snapshot tiny-0a1b2c3d aaaaaaaaaaaaaaaa.json+aaaaaaaaaaaaaaaa.kv",
            "snapshot tiny-0a1b2c3d bbbbbbbbbbbbbbbb.json+bbbbbbbbbbbbbbbb.kv"});
    const auto& first = stored.items[0];
    REQUIRE(first.manifest);
    CHECK(first.manifest->last_used == at(3));
    CHECK(first.id == id_of('c'));
    CHECK(first.bytes == 900 + disk.content(other_path / (id_of('c') + ".json")).size());
    CHECK(stored.bytes == first.bytes + stored.items[1].bytes + stored.items[2].bytes);
    CHECK(stored.free_bytes == 12345);
    CHECK(measure(disk, store_root) == stored.bytes);
}

TEST_CASE("a snapshot that can never be restored is broken, with the reason") {
    virtual_disk disk;
    SECTION("of another size") {
        const auto item = only_item(disk, [](auto& manifest) { manifest.bytes = 501; });
        CHECK(item.what == stored_item::kind::broken);
        CHECK(item.problem == "its state file has 500 bytes, but 501 were saved");
        CHECK(item.manifest); // it may be pinned
    }
    SECTION("never synced before a reboot") {
        const auto item = only_item(disk, [](auto& manifest) {
            manifest.synced = false;
            manifest.boot_id = "another";
        });
        CHECK(item.what == stored_item::kind::broken);
        CHECK(item.problem.find("restarted") != std::string::npos);
    }
    SECTION("not synced yet, in this boot") {
        const auto item = only_item(disk, [](auto& manifest) {
            manifest.synced = false;
            manifest.boot_id = hibernate::boot_id();
        });
        CHECK(item.what == stored_item::kind::snapshot);
    }
    SECTION("in quarantine") {
        const auto item = only_item(disk, [](auto& manifest) { manifest.quarantine = "why"; });
        CHECK(item.what == stored_item::kind::quarantined);
        CHECK(item.problem == "why");
    }
    SECTION("without a manifest that can be read") {
        put_snapshot(disk, own_directory, 'a', 500, 1);
        disk.put(store_path / (id_of('a') + ".json"), "{");
        const auto stored = take_inventory(disk, store_root);
        REQUIRE(stored.items.size() == 1);
        CHECK(stored.items[0].what == stored_item::kind::broken);
        CHECK_FALSE(stored.items[0].manifest);
        CHECK(stored.items[0].id == id_of('a'));
        CHECK(stored.items[0].file_names.size() == 2);
        CHECK(stored.bytes == 501);
    }
}

TEST_CASE("what a later version wrote, or the disk refuses to read, may be sound") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 500, 1);
    const auto manifest = store_path / (id_of('a') + ".json");
    SECTION("a later version") {
        auto text = disk.content(manifest);
        const std::string format = "\"format\": 1";
        text.replace(text.find(format), format.size(), "\"format\": 2");
        disk.put(manifest, text);
    }
    SECTION("refused") {
        disk.fail_path(
            manifest, boost::system::errc::make_error_code(boost::system::errc::permission_denied));
    }
    const auto stored = take_inventory(disk, store_root);
    REQUIRE(stored.items.size() == 1);
    CHECK(stored.items[0].what == stored_item::kind::unreadable);
    CHECK(stored.items[0].id == id_of('a'));
    CHECK_FALSE(stored.items[0].problem.empty());
}

TEST_CASE("halves of a snapshot and staging files are leftovers") {
    virtual_disk disk;
    disk.put(store_path / "lock", "");
    disk.put(store_path / (id_of('a') + ".kv"), "1234");
    disk.put(store_path / (id_of('b') + ".json"), "12");
    disk.put(store_path / (id_of('c') + ".json.tmp"), "1");
    disk.put(store_path / "staging-17-3.kv", "12345");
    const auto stored = take_inventory(disk, store_root);
    CHECK(stored.items.size() == 4);
    for (const auto& item : stored.items) {
        CHECK(item.what == stored_item::kind::leftover);
        CHECK(item.file_names.size() == 1);
    }
    CHECK(stored.bytes == 12);
}

TEST_CASE("a manifest that is being changed goes with its snapshot, not before") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 500, 1);
    const auto alone = take_inventory(disk, store_root).bytes;
    disk.put(store_path / (id_of('a') + ".json.tmp"), "123");
    const auto stored = take_inventory(disk, store_root);
    REQUIRE(stored.items.size() == 1);
    CHECK(stored.items[0].what == stored_item::kind::snapshot);
    CHECK(stored.items[0].file_names.size() == 3);
    CHECK(stored.bytes == alone + 3);
    CHECK(measure(disk, store_root) == stored.bytes);
}

TEST_CASE("what does not bear our names is foreign, counted with all that is in it") {
    virtual_disk disk;
    const std::filesystem::path root = store_root;
    disk.put(root / "README", "12");
    disk.put(root / "backup" / (id_of('a') + ".kv"), "123"); // no model's directory
    disk.put(root / "backup" / "deep" / "er", "1234");
    disk.put(store_path / "lock", "");
    disk.put(store_path / "my own.kv", "12345");
    // Bears such a name, but nobody ever locked it: some user's photographs.
    disk.put(root / "photos-20240101" / (id_of('a') + ".kv"), "12345678");
    disk.put(store_path / "sub-01234567" / (id_of('a') + ".kv"), "123456");
    disk.put(root / (id_of('a') + ".kv"), "1234567");
    disk.put_link(store_path / (id_of('d') + ".kv"));
    disk.put(store_path / (id_of('d') + ".json"), "");
    const auto stored = take_inventory(disk, root);
    CHECK(
        lines_of(stored) ==
        std::vector<std::string>{
            "foreign  README", "foreign  aaaaaaaaaaaaaaaa.kv", "foreign  backup",
            "foreign  photos-20240101", "foreign tiny-0a1b2c3d dddddddddddddddd.kv",
            "foreign tiny-0a1b2c3d my own.kv", "foreign tiny-0a1b2c3d sub-01234567",
            "leftover tiny-0a1b2c3d dddddddddddddddd.json"});
    CHECK(stored.bytes == 2 + 3 + 4 + 5 + 6 + 7 + 8);
    CHECK(measure(disk, root) == stored.bytes);
}

TEST_CASE("what cannot be read is left out, and an absent root is empty") {
    virtual_disk disk;
    CHECK(take_inventory(disk, store_root).items.empty());
    CHECK(measure(disk, store_root) == 0);
    put_snapshot(disk, own_directory, 'a', 500, 1);
    put_snapshot(disk, other_directory, 'b', 500, 1);
    const auto denied =
        boost::system::errc::make_error_code(boost::system::errc::permission_denied);
    SECTION("a directory") {
        disk.fail_path(other_path, denied);
        const auto stored = take_inventory(disk, store_root);
        REQUIRE(stored.items.size() == 1);
        CHECK(stored.items[0].directory == own_directory);
    }
    SECTION("the root") {
        disk.fail_path(store_root, denied);
        const auto stored = take_inventory(disk, store_root);
        CHECK(stored.items.empty());
        CHECK_FALSE(stored.free_bytes);
    }
}

TEST_CASE("only a model and a hash make a directory's name") {
    CHECK(is_directory_name("tiny-0a1b2c3d"));
    CHECK(is_directory_name("a-b-0a1b2c3d"));
    for (const char* name :
         {"", "tiny", "-0a1b2c3d", "0a1b2c3d", "tiny-0a1b2c3", "tiny-0A1B2C3D", "tiny_0a1b2c3d",
          "tiny-0a1b2c3d.bak"}) {
        CHECK_FALSE(is_directory_name(name));
    }
    CHECK(is_directory_name(hibernate::store::directory_name("/models/qwen.gguf", "")));
    CHECK(is_directory_name(hibernate::store::directory_name("", "my name")));
}

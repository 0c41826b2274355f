#include "llama_hibernate/admin/store_facts.hpp"

#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate;
using namespace hibernate::test;

TEST_CASE("one model's snapshots are told, the latest first, and the bytes of all") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 10, [](auto& one) {
        one.uses = 4;
        one.reused = 3;
        one.missed = 1;
    });
    put_snapshot(disk, own_directory, 'b', 2000, 20, [](auto& one) {
        one.supersedes = {id_of('a')};
        one.pinned = true;
    });
    put_snapshot(disk, other_directory, 'c', 3000, 30);
    disk.put(std::filesystem::path(store_root) / "foreign", "1234567");

    const auto stored = store::take_inventory(disk, store_root);
    const auto view = admin::describe_store(stored, store_root, own_directory, {100, 50}, at(99));
    CHECK(view.root == store_root);
    CHECK(view.bytes == stored.bytes);
    CHECK(view.bound == 100);
    CHECK(view.min_free == 50);
    CHECK(view.snapshots == 3);
    REQUIRE(view.of_model.size() == 2);
    CHECK(view.of_model[0].id == id_of('b'));
    CHECK(view.of_model[0].state == "ready");
    CHECK(view.of_model[0].pinned);
    CHECK(view.of_model[1].state == "superseded");
    CHECK(view.of_model[1].superseded_by == id_of('b'));
    CHECK(view.of_model[1].uses == 4);
    CHECK(view.of_model[1].reused == 3);
    CHECK(view.of_model[1].missed == 1);
}

#include "llama_hibernate/store/verification.hpp"

#include "catch.hpp"
#include "store_fixture.hpp"

using namespace hibernate::test;
using hibernate::store::verify_snapshot;
using verdict = hibernate::store::verification::verdict;

namespace {

verdict verify(virtual_disk& disk, const std::string& id) {
    return verify_snapshot(disk, store_path, id).what;
}

} // namespace

TEST_CASE("damage anywhere in a hashed snapshot is found") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto state = store_path / (id + ".kv");
    const auto last = disk.content(state).size() - 1;
    CHECK(verify(disk, id) == verdict::not_summed);
    disk.change_byte(state, last);
    CHECK(verify(disk, id) == verdict::not_summed); // nothing to compare with
    disk.change_byte(state, last);
    REQUIRE_FALSE(directory->make_durable(id));
    CHECK(verify(disk, id) == verdict::sound);
    for (const auto offset : {std::size_t{0}, std::size_t{30}, last}) {
        disk.change_byte(state, offset);
        CHECK(verify(disk, id) == verdict::damaged);
        disk.change_byte(state, offset);
    }
    CHECK(verify(disk, id) == verdict::sound);
    CHECK_FALSE(verify_snapshot(disk, store_path, "0123456789abcdef").problem.empty());
    CHECK(verify(disk, "../x") == verdict::damaged);
}

TEST_CASE("a manifest that cannot be understood is damage, one that cannot be read is not") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto manifest = store_path / (id + ".json");
    disk.fail_path(
        manifest, boost::system::errc::make_error_code(boost::system::errc::permission_denied));
    CHECK(verify(disk, id) == verdict::unreadable);
    disk.restart();
    disk.put(manifest, "{}");
    CHECK(verify(disk, id) == verdict::damaged);
}

TEST_CASE("quarantine hides nothing from a verification, and it can be cut short") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(directory->make_durable(id));
    directory->quarantine(id, "llama-server died while it was restored");
    CHECK(verify(disk, id) == verdict::sound);
    const auto stop = [](std::uint64_t) { return false; };
    CHECK(verify_snapshot(disk, store_path, id, stop).what == verdict::cancelled);
    disk.change_byte(store_path / (id + ".kv"), 30);
    CHECK(verify(disk, id) == verdict::damaged);
}

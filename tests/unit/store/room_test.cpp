#include "llama_hibernate/store/room.hpp"

#include "captured_log.hpp"
#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using hibernate::store::disk_bound;
using hibernate::store::measure;
using hibernate::store::room_keeper;

namespace errc = boost::system::errc;

namespace {

constexpr std::size_t file_bytes = 10'000;

/// Our own model's directory with the snapshots 1, 2, 3 (the oldest first), and another model's
/// with a (older than all) and b (younger than all), whose daemon does not run.
struct two_models {
    virtual_disk disk;
    captured_log log;
    room_keeper::present now{some_signature(), {}, {}};

    two_models() {
        for (const char digit : {'1', '2', '3'}) {
            put_snapshot(disk, own_directory, digit, file_bytes, digit);
        }
        put_snapshot(disk, other_directory, 'a', file_bytes, 1);
        put_snapshot(disk, other_directory, 'b', file_bytes, 200);
    }

    room_keeper keeper(std::uint64_t max_disk, std::uint64_t min_free = 0) {
        return {disk, store_root, own_directory, disk_bound{max_disk, min_free}};
    }
    std::uint64_t total() { return measure(disk, store_root); }
    /// No snapshot more, whichever few bytes their manifests differ by.
    std::uint64_t full() { return total() + 100; }

    /// The digits of what is there, our own first.
    std::string left() const {
        std::string digits;
        for (const char digit : {'1', '2', '3', '4'}) {
            digits += is_stored(disk, own_directory, digit) ? std::string(1, digit) : "";
        }
        for (const char digit : {'a', 'b'}) {
            digits += is_stored(disk, other_directory, digit) ? std::string(1, digit) : "";
        }
        return digits;
    }
};

} // namespace

TEST_CASE("a store within its bound is left as it is") {
    two_models all;
    const auto before = all.total();
    auto keeper = all.keeper(before);
    keeper.tidy(all.now);
    CHECK(all.total() == before);
    CHECK(all.log.text().empty());
}

TEST_CASE("at start the store is brought below its bound, a line for each removal") {
    two_models all;
    auto keeper = all.keeper(all.total() - 2 * file_bytes);
    keeper.tidy(all.now);
    CHECK(all.left() == "23b");
    CHECK(all.log.lines_with("removed snapshot aaaaaaaaaaaaaaaa (other, 100 tokens, ") == 1);
    CHECK(all.log.lines_with("to make room: the least recently used") == 2);
}

TEST_CASE("at start what is in use goes last, but the bound holds") {
    two_models all;
    all.now.in_use = {id_of('1'), id_of('2')};
    const auto total = all.total();
    all.keeper(total - file_bytes).tidy(all.now);
    CHECK(all.left() == "123b");
    all.keeper(total / 4).tidy(all.now);
    CHECK(all.left() == "b");
}

TEST_CASE("at start nothing goes when it cannot help, and that is said") {
    two_models all;
    all.disk.put(std::filesystem::path(store_root) / "my files" / "x", std::string(900'000, 'x'));
    auto keeper = all.keeper(800'000);
    keeper.tidy(all.now);
    CHECK(all.left() == "123ab");
    CHECK(all.log.lines_with("not ours: 1 file or folder (879 KiB) in /cache") == 1);
    CHECK(all.log.lines_with("stays over its bound: /cache holds ") == 1);
    CHECK(all.disk.exists(std::filesystem::path(store_root) / "my files" / "x"));
}

TEST_CASE("before a save there is room for as much as it will probably take") {
    two_models all;
    auto keeper = all.keeper(all.full());
    SECTION("of a file as large as one") {
        const auto room = keeper.before_save(all.now, 100);
        CHECK(room.enough);
        CHECK(*room.estimate > file_bytes); // the manifest counts as well
        CHECK(*room.estimate < file_bytes + 1000);
        CHECK(all.left() == "123b");
    }
    SECTION("of two") {
        CHECK(keeper.before_save(all.now, 200).enough);
        CHECK(all.left() == "23b");
    }
    SECTION("of more than may go: nothing goes, and the numbers are told") {
        const auto room = keeper.before_save(all.now, 700);
        CHECK_FALSE(room.enough);
        CHECK(room.problem.find("there is no room for the ") == 0);
        CHECK(room.problem.find(" KiB that it may take: /cache holds ") != std::string::npos);
        CHECK(room.problem.find(" of at most ") != std::string::npos);
        CHECK(all.left() == "123ab");
    }
    SECTION("of nobody knows how much: as long as the bound holds") {
        all.now.signature.parts["cache-type-k"] = "q8_0";
        auto larger = all.keeper(all.full() + 700 * 4); // the tokens alone
        const auto room = larger.before_save(all.now, 700);
        CHECK(room.enough);
        CHECK_FALSE(room.estimate);
        CHECK(all.left() == "123ab");
        CHECK_FALSE(all.keeper(0).before_save(all.now, 700).enough);
        CHECK_FALSE(all.keeper(0).before_save(all.now, {}).enough);
    }
    SECTION("of as much as the model tells: room is made, as far as there is any") {
        all.now.signature.parts["cache-type-k"] = "q8_0";
        all.now.bytes_per_token = file_bytes / 100;
        CHECK(keeper.before_save(all.now, 100).enough);
        CHECK(all.left().size() < 5);
        const auto left = all.left();
        CHECK(keeper.before_save(all.now, 1'000).enough); // it was only a guess
        CHECK(all.left() == left);
    }
}

TEST_CASE("a save leaves the free space that it has to leave") {
    two_models all;
    all.disk.set_free_space(60'000);
    CHECK(all.keeper(1'000'000, 49'000).before_save(all.now, 100).enough);
    CHECK(all.left() == "123ab");
    CHECK(all.keeper(1'000'000, 50'000).before_save(all.now, 100).enough);
    CHECK(all.left() == "123b");
    const auto room = all.keeper(1'000'000, 10'000'000).before_save(all.now, 100);
    CHECK_FALSE(room.enough);
    CHECK(
        room.problem.find("58.6 KiB are free on its disk, of which 9.54 MiB have to stay") !=
        std::string::npos);
    CHECK(all.left() == "123b");
}

TEST_CASE("a live daemon's directory is not touched") {
    two_models all;
    auto lock = all.disk.try_lock(std::filesystem::path(store_root) / other_directory / "lock");
    REQUIRE(lock);
    REQUIRE(*lock);
    const auto total = all.full();
    CHECK(all.keeper(total).before_save(all.now, 200).enough);
    CHECK(all.left() == "3ab");
    CHECK_FALSE(all.keeper(total).before_save(all.now, 500).enough);
    lock->reset();
    CHECK(all.keeper(total - 2 * file_bytes).before_save(all.now, 100).enough);
    CHECK(all.left() == "3b");
}

TEST_CASE("the locks are released afterwards") {
    two_models all;
    CHECK(all.keeper(all.full()).before_save(all.now, 100).enough);
    auto lock = all.disk.try_lock(std::filesystem::path(store_root) / other_directory / "lock");
    REQUIRE(lock);
    CHECK(*lock);
}

TEST_CASE("snapshots of a model that is gone go first, unless it is there") {
    two_models all;
    const auto give_path = [](auto& manifest) { manifest.model_path = "/models/other.gguf"; };
    put_snapshot(all.disk, other_directory, 'b', file_bytes, 200, give_path);
    const auto total = all.full();
    SECTION("gone") {
        CHECK(all.keeper(total).before_save(all.now, 100).enough);
        CHECK(all.left() == "123a");
    }
    SECTION("there") {
        all.disk.put("/models/other.gguf", "GGUF");
        CHECK(all.keeper(total).before_save(all.now, 100).enough);
        CHECK(all.left() == "123b");
    }
    SECTION("there, but closed to us") {
        all.disk.fail_path("/models/other.gguf", errc::make_error_code(errc::permission_denied));
        CHECK(all.keeper(total).before_save(all.now, 100).enough);
        CHECK(all.left() == "123b");
    }
}

TEST_CASE("after a save that fits nothing more is done") {
    two_models all;
    put_snapshot(all.disk, own_directory, '4', file_bytes, 300);
    CHECK(all.keeper(all.total()).after_save(all.now, id_of('4')).enough);
    CHECK(all.left() == "1234ab");
    CHECK(all.log.text().empty());
}

TEST_CASE("a save that became larger than expected makes its room afterwards") {
    two_models all;
    put_snapshot(all.disk, own_directory, '4', 3 * file_bytes, 0);
    const auto keeper_bound = all.total() - file_bytes;
    CHECK(all.keeper(keeper_bound).after_save(all.now, id_of('4')).enough);
    CHECK(all.left() == "1234b"); // not the new one, old as it looks
}

TEST_CASE("a save for which there is no room at all is taken back") {
    two_models all;
    put_snapshot(all.disk, own_directory, '4', 9 * file_bytes, 300, [](auto& manifest) {
        manifest.supersedes = {id_of('3')};
    });
    const auto room = all.keeper(8 * file_bytes).after_save(all.now, id_of('4'));
    CHECK_FALSE(room.enough);
    CHECK(room.problem.find("it was larger than expected and is removed again: ") == 0);
    CHECK(all.left() == "123ab"); // what it superseded is there again
}

TEST_CASE("what it continues makes room for a save before anything else") {
    two_models all;
    all.now.in_use = {id_of('3')};
    put_snapshot(all.disk, own_directory, '4', file_bytes, 300, [](auto& manifest) {
        manifest.supersedes = {id_of('3')};
    });
    CHECK(all.keeper(all.total() - 1).after_save(all.now, id_of('4')).enough);
    CHECK(all.left() == "124ab");
}

TEST_CASE("where nothing can be removed others make the room") {
    two_models all;
    const auto other = std::filesystem::path(store_root) / other_directory;
    const auto read_only = errc::make_error_code(errc::read_only_file_system);
    all.disk.fail_path(other / (id_of('a') + ".json"), {});
    SECTION("in one directory") {
        all.disk.fail_path(other / (id_of('a') + ".kv"), read_only);
        CHECK(all.keeper(all.full()).before_save(all.now, 100).enough);
        CHECK_FALSE(is_stored(all.disk, own_directory, '1'));
        CHECK(is_stored(all.disk, own_directory, '2'));
        CHECK(all.log.lines_with("cannot remove snapshot aaaaaaaaaaaaaaaa") == 1);
    }
    SECTION("anywhere") {
        for (const char digit : {'1', '2', '3'}) {
            all.disk.fail_path(store_path / (id_of(digit) + ".kv"), read_only);
        }
        all.disk.fail_path(other / (id_of('a') + ".kv"), read_only);
        CHECK_FALSE(all.keeper(all.full()).before_save(all.now, 100).enough);
        CHECK(all.log.lines_with("cannot remove ") == 2);
        CHECK(is_stored(all.disk, own_directory, '2'));
        CHECK(is_stored(all.disk, own_directory, '3'));
    }
}

TEST_CASE("an eviction that is killed at any step leaves whole snapshots and leftovers") {
    for (unsigned step = 1;; ++step) {
        two_models all;
        const auto bound = all.total() - 3 * file_bytes;
        all.disk.kill_at_step(step);
        bool was_killed = false;
        try {
            all.keeper(bound).tidy(all.now);
        } catch (const killed&) {
            was_killed = true;
        }
        all.disk.restart();
        for (const auto& item : hibernate::store::take_inventory(all.disk, store_root).items) {
            CHECK(item.what != hibernate::store::stored_item::kind::broken);
        }
        all.keeper(bound).tidy(all.now);
        CHECK(all.total() <= bound);
        CHECK(is_stored(all.disk, other_directory, 'b'));
        if (!was_killed) {
            CHECK(step > 10);
            break;
        }
    }
}

TEST_CASE("what kept the child from saving is told") {
    two_models all;
    auto keeper = all.keeper(1'000'000);
    CHECK(keeper.find_trouble(5000).empty());
    all.disk.set_free_space(2'000'000);
    CHECK(keeper.find_trouble(5000).empty());
    CHECK(keeper.find_trouble(3'000'000) == "1.91 MiB are free on its disk");
    all.disk.set_free_space(0);
    CHECK(keeper.find_trouble(std::nullopt) == "0 B are free on its disk");
    all.disk.fail_path(store_path, errc::make_error_code(errc::read_only_file_system));
    CHECK(keeper.find_trouble(5000) == store_path.string() + ": Read-only file system");
}

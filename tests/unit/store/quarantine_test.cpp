#include <atomic>
#include <string>

#include "captured_log.hpp"
#include "catch.hpp"
#include "store_fixture.hpp"

using namespace hibernate;
using namespace hibernate::store;
using namespace hibernate::test;
namespace errc = boost::system::errc;

namespace {

const std::vector<std::string> none;

/// One durable snapshot on a disk.
struct kept {
    captured_log lines;
    virtual_disk disk;
    std::unique_ptr<model_directory> directory = open_store(disk);
    std::string id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    std::filesystem::path state = store_path / (id + ".kv");
    std::filesystem::path manifest_file = store_path / (id + ".json");

    kept() { REQUIRE_FALSE(directory->make_durable(id)); }

    manifest read() const {
        const auto reading = read_manifest(disk.content(manifest_file));
        REQUIRE(reading.value);
        return *reading.value;
    }
    std::vector<std::string> offered() { return ids_of(directory->snapshots()); }
    /// A new daemon on the same disk.
    void start_again() {
        directory.reset();
        disk.restart();
        directory = open_store(disk);
    }
    /// Damage beyond the head, which only the checksum can find.
    void damage() { disk.change_byte(state, disk.content(state).size() - 1); }
};

} // namespace

TEST_CASE("a snapshot in quarantine stays on the disk and is never offered again") {
    kept one;
    one.directory->quarantine(one.id, "llama-server refused it: because");
    CHECK(one.offered() == none);
    CHECK(one.read().quarantine == "llama-server refused it: because");
    CHECK(one.lines.lines_with("is put into quarantine: llama-server refused it") == 1);

    one.start_again();
    CHECK(one.offered() == none);
    CHECK(one.directory->check(one.id) == soundness::quarantined);
    CHECK(one.disk.exists(one.state));
    CHECK(one.lines.lines_with(one.id) == 1);
    REQUIRE(one.directory->quarantined().size() == 1);
    CHECK(one.directory->quarantined()[0].id == one.id);
}

TEST_CASE("a quarantine keeps what a later version wrote, and needs a reason") {
    kept one;
    auto what = one.read();
    what.unknown_fields = R"({"color":"blue"})";
    one.disk.put(one.manifest_file, write_manifest(what));
    one.directory->quarantine(one.id, "");
    CHECK_FALSE(one.read().quarantine.empty());
    CHECK(one.read().unknown_fields == R"({"color":"blue"})");
}

TEST_CASE("what others said is cut to a clause") {
    kept one;
    one.directory->quarantine(one.id, std::string(100'000, 'x'));
    CHECK(one.read().quarantine.size() < 1000);
}

TEST_CASE("a disk that cannot keep the quarantine keeps nobody from it") {
    kept one;
    one.disk.fail_path(one.manifest_file, errc::make_error_code(errc::read_only_file_system));
    // Reading works on a read-only file system.
    SECTION("only the writing fails") {
        one.disk.restart();
        one.disk.fail_at_step(6, errc::make_error_code(errc::read_only_file_system));
        one.directory->quarantine(one.id, "reason");
        CHECK(one.lines.lines_with("cannot be noted") == 1);
        CHECK(one.offered() == none);
        CHECK(one.directory->check(one.id) == soundness::quarantined);
    }
    SECTION("the manifest cannot be read either") {
        one.directory->quarantine(one.id, "reason");
        CHECK(one.offered() == none);
    }
}

TEST_CASE("a sound snapshot is read once") {
    kept one;
    one.start_again();
    CHECK(one.directory->check(one.id) == soundness::sound);
    const auto first = one.disk.steps();
    CHECK(one.directory->check(one.id) == soundness::sound);
    CHECK(one.disk.steps() - first < first);
    CHECK(one.offered() == std::vector<std::string>{one.id});
}

TEST_CASE("one that was changed after it was checked is read again") {
    kept one;
    CHECK(one.directory->check(one.id) == soundness::sound);
    one.damage();
    CHECK(one.directory->check(one.id) == soundness::quarantined);
}

TEST_CASE("one that was changed is found before it is restored") {
    kept one;
    one.damage();
    CHECK(one.offered() == std::vector<std::string>{one.id}); // its size and head are as before
    CHECK(one.directory->check(one.id) == soundness::quarantined);
    CHECK(one.read().quarantine.find("checksum differs") != std::string::npos);
    CHECK(one.offered() == none);
}

TEST_CASE("a file that became shorter between listing and restore is found") {
    kept one;
    one.directory->check(one.id);
    const auto content = one.disk.content(one.state);
    one.disk.put(one.state, content.substr(0, content.size() - 1));
    CHECK(one.directory->check(one.id) == soundness::quarantined);
}

TEST_CASE("a check that is stopped or that the disk refuses blames nobody") {
    kept one;
    one.damage();
    SECTION("stopped") {
        const auto stop = [](std::uint64_t) { return false; };
        CHECK(one.directory->check(one.id, stop) == soundness::unknown);
    }
    SECTION("refused") {
        one.disk.fail_path(one.state, errc::make_error_code(errc::io_error));
        CHECK(one.directory->check(one.id) == soundness::unknown);
        CHECK(one.directory->check(one.id) == soundness::unknown);
        CHECK(one.lines.lines_with("is left out") == 1);
    }
    SECTION("not there") {
        CHECK(one.directory->check("0000000000000000") == soundness::unknown);
        CHECK(one.directory->check("../etc/passwd") == soundness::unknown);
    }
    CHECK(one.read().quarantine.empty());
}

TEST_CASE("one that nobody hashed is judged by its size and head") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    CHECK(directory->check(id) == soundness::sound);
}

TEST_CASE("damage that a listing finds leads to quarantine, a disk that fails does not") {
    kept one;
    const auto content = one.disk.content(one.state);
    SECTION("shorter") {
        one.disk.put(one.state, content.substr(0, content.size() - 1));
        CHECK(one.offered() == none);
        CHECK_FALSE(one.read().quarantine.empty());
    }
    SECTION("another head") {
        one.disk.change_byte(one.state, 0);
        CHECK(one.offered() == none);
        CHECK_FALSE(one.read().quarantine.empty());
    }
    SECTION("unreadable for now") {
        one.disk.fail_path(one.state, errc::make_error_code(errc::io_error));
        CHECK(one.offered() == none);
        one.disk.restart();
        CHECK(one.read().quarantine.empty());
        CHECK(one.offered() == std::vector<std::string>{one.id});
    }
    SECTION("a link") {
        one.disk.put_link(one.state);
        CHECK(one.offered() == none);
        CHECK(one.read().quarantine.empty());
    }
}

TEST_CASE("a damaged token list, which no listing reads, is found before a restore") {
    captured_log lines;
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto old = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(directory->make_durable(old));
    // Nobody has hashed it, so only its head can tell.
    const auto newer = publish(disk, *directory, token_run(1, 20)).published->manifest.id;
    auto damaged = token_run(1, 20);
    damaged[12] = -16;
    disk.put(store_path / (newer + ".kv"), state_file(damaged));
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{newer});
    CHECK(directory->check(newer) == soundness::quarantined);
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{old});
}

TEST_CASE("what a snapshot in quarantine would have superseded is offered again, and stays") {
    captured_log lines;
    virtual_disk disk;
    auto directory = open_store(disk);
    const auto old = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(directory->make_durable(old));
    const auto newer = publish(disk, *directory, token_run(1, 20)).published->manifest.id;
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{newer});

    directory->quarantine(newer, "reason");
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{old});
    // Not even a sync of the new one removes the old one now, or a start.
    CHECK(directory->make_durable(newer));
    directory.reset();
    directory = open_store(disk);
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{old});
    erase(disk, newer);
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{old});
}

TEST_CASE("a kill while a snapshot is put into quarantine leaves it, in it or not") {
    captured_log lines;
    bool finished = false;
    for (unsigned killing = 1; !finished; ++killing) {
        virtual_disk disk;
        auto directory = open_store(disk);
        const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
        disk.kill_at_step(killing);
        try {
            directory->quarantine(id, "reason");
            finished = true;
        } catch (const killed&) {
        }
        directory.reset();
        disk.restart();
        directory = open_store(disk);
        CHECK(holds_nothing_but(disk, {id}));
        CHECK(directory->snapshots().size() + directory->quarantined().size() == 1);
    }
}

TEST_CASE("a staging file is private before the child writes to it") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto name = directory->new_staging_name();
    REQUIRE_FALSE(directory->create_staging(name));
    CHECK(disk.is_private(store_path / name));
    CHECK(directory->create_staging(name) == errc::file_exists);
    CHECK(directory->create_staging("mine.kv") == errc::invalid_argument);
    const auto planted = directory->new_staging_name();
    disk.put_link(store_path / planted);
    CHECK(directory->create_staging(planted) == errc::file_exists);
}

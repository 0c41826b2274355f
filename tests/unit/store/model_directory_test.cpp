#include "llama_hibernate/store/model_directory.hpp"

#include "captured_log.hpp"
#include "store_fixture.hpp"

using namespace hibernate::test;
using hibernate::store::model_directory;
using hibernate::store::read_manifest;
using hibernate::store::write_manifest;

namespace errc = boost::system::errc;

namespace {

const std::string some_id = "0123456789abcdef";
const auto some_state = store_path / (some_id + ".kv");
const auto some_manifest = store_path / (some_id + ".json");

hibernate::store::manifest manifest_in(const virtual_disk& disk, const std::string& id) {
    auto reading = read_manifest(disk.content(store_path / (id + ".json")));
    REQUIRE(reading.value);
    return *reading.value;
}

void put_manifest(virtual_disk& disk, const hibernate::store::manifest& what) {
    disk.put(store_path / (what.id + ".json"), write_manifest(what));
}

} // namespace

TEST_CASE("the directory is created, private and locked") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    CHECK(directory->path() == store_path);
    CHECK(disk.is_private(store_root));
    CHECK(disk.is_private(store_path));
    const auto second = model_directory::open(disk, store_root, store_path.filename().string());
    REQUIRE(second.has_error());
    CHECK(second.error() == errc::resource_unavailable_try_again);
}

TEST_CASE("a closed directory can be opened again") {
    virtual_disk disk;
    open_store(disk).reset();
    open_store(disk);
}

TEST_CASE("while another process holds the lock nothing is cleared") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    disk.put(store_path / "staging-1-1.kv", "being written");
    CHECK(model_directory::open(disk, store_root, store_path.filename().string()).has_error());
    CHECK(disk.exists(store_path / "staging-1-1.kv"));
}

TEST_CASE("what keeps the directory from being used is an error") {
    const auto refused = errc::make_error_code(errc::permission_denied);
    for (unsigned failing = 1; failing <= 4; ++failing) {
        virtual_disk disk;
        disk.fail_at_step(failing, refused);
        const auto opened = model_directory::open(disk, store_root, "tiny");
        REQUIRE(opened.has_error());
        CHECK(opened.error() == refused);
        // The lock was given back.
        disk.fail_at_step(0, {});
        CHECK(model_directory::open(disk, store_root, "tiny").has_value());
    }
}

TEST_CASE("a name that leaves the root is refused") {
    virtual_disk disk;
    for (const char* name : {"", ".", "..", "a/b", "/etc"}) {
        CHECK(model_directory::open(disk, store_root, name).has_error());
    }
    CHECK(disk.names("/").empty());
}

TEST_CASE("leftovers of a kill are removed with a log line, other files are never touched") {
    captured_log lines;
    virtual_disk disk;
    const auto id = publish(disk, *open_store(disk), token_run(1, 5)).published->manifest.id;
    const char* leftovers[] = {
        "0000000000000001.kv", "0000000000000002.json", "0000000000000003.json.tmp",
        "staging-4711-0.kv", "staging-1-4294967295.kv"};
    const char* others[] = {
        "notes.txt",           "mine.kv",          "0000000000000001.kv.bak", "0000000000000004.KV",
        "staging-mine.kv",     "staging-1-2.json", "staging-1-2.kv.part",     "000000000000000.kv",
        "00000000000000ab9.kv"};
    for (const auto* name : leftovers) {
        disk.put(store_path / name, "x");
    }
    disk.put(store_path / (id + ".json.tmp"), "{");
    disk.put_link(store_path / "staging-4711-1.kv");
    for (const auto* name : others) {
        disk.put(store_path / name, "x");
    }
    const auto directory = open_store(disk);
    for (const auto* name : leftovers) {
        CHECK_FALSE(disk.exists(store_path / name));
        CHECK(lines.lines_with(name) == 1);
    }
    CHECK_FALSE(disk.exists(store_path / (id + ".json.tmp")));
    CHECK_FALSE(disk.exists(store_path / "staging-4711-1.kv"));
    for (const auto* name : others) {
        CHECK(disk.exists(store_path / name));
    }
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
}

TEST_CASE("a leftover that cannot be removed does not stop a start") {
    captured_log lines;
    virtual_disk disk;
    disk.put(store_path / "staging-1-1.kv", "x");
    disk.put(store_path / "staging-1-2.kv", "x");
    disk.fail_path(store_path / "staging-1-1.kv", errc::make_error_code(errc::io_error));
    open_store(disk);
    CHECK(lines.lines_with("cannot remove the leftover") == 1);
    CHECK_FALSE(disk.exists(store_path / "staging-1-2.kv"));
}

TEST_CASE("a snapshot that is not whole is left out with one log line") {
    captured_log lines;
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto good = publish(disk, *directory, token_run(500, 9)).published->manifest.id;
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    const auto state = store_path / (id + ".kv");
    const auto manifest_file = store_path / (id + ".json");
    const auto content = disk.content(state);
    auto changed = manifest_in(disk, id);
    std::string reason;
    SECTION("its state file is gone") {
        disk.remove(state);
        reason = "its state file cannot be read";
    }
    SECTION("its state file is shorter") {
        disk.put(state, content.substr(0, content.size() - 1));
        reason = "but " + std::to_string(content.size()) + " were saved";
    }
    SECTION("its state file is another") {
        disk.put(state, state_file(token_run(1, 8), 104));
        reason = "has 8 tokens, but 9 were saved";
    }
    SECTION("its state file is of another version") {
        disk.put(state, state_file(token_run(1, 9), 100, 5));
        reason = "is of version 5, but 4 was saved";
    }
    SECTION("its state file is damaged") {
        disk.change_byte(state, 0);
        reason = "its state file is damaged";
    }
    SECTION("its state file is a link") {
        disk.put_link(state);
        reason = "its state file cannot be read";
    }
    SECTION("its manifest is a link") {
        disk.put_link(manifest_file);
        reason = "its manifest cannot be read";
    }
    SECTION("its manifest is no JSON") {
        disk.put(manifest_file, "{");
        reason = "its manifest is unusable: it is not a JSON object";
    }
    SECTION("its manifest is of a later format") {
        disk.put(manifest_file, R"({"format": 2})");
        reason = "its format 2 is newer";
    }
    SECTION("its manifest is huge") {
        disk.put(manifest_file, std::string(2'000'000, ' ') + write_manifest(changed));
        reason = "its manifest has";
    }
    SECTION("its manifest is another's") {
        disk.put(manifest_file, disk.content(store_path / (good + ".json")));
        reason = "its manifest is that of " + good;
    }
    SECTION("the machine restarted before it was synced") {
        changed.boot_id = "another boot";
        put_manifest(disk, changed);
        reason = "the machine may have restarted before it was synced to the disk";
    }
    SECTION("nobody knows in which boot it was saved, and it was never synced") {
        changed.boot_id.clear();
        put_manifest(disk, changed);
        reason = "the machine may have restarted before it was synced to the disk";
    }
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{good});
    CHECK(lines.lines_with(id) == 1);
    CHECK(lines.lines_with(reason) == 1);
}

TEST_CASE("a damaged token list keeps a snapshot from being made durable") {
    captured_log lines;
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto old = publish(disk, *directory, token_run(1, 5)).published->manifest.id;
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    auto damaged = token_run(1, 9);
    damaged[7] = -16;
    disk.put(store_path / (id + ".kv"), state_file(damaged));
    CHECK(directory->make_durable(id) == errc::no_such_file_or_directory);
    CHECK(contains(ids_on_disk(disk), old));
}

TEST_CASE("a later version's snapshot is left alone, not removed") {
    virtual_disk disk;
    disk.put(some_state, state_file(token_run(1, 5)));
    disk.put(some_manifest, R"({"format": 2})");
    captured_log lines;
    const auto directory = open_store(disk);
    CHECK(directory->snapshots().empty());
    publish(disk, *directory, token_run(1, 50));
    CHECK(disk.exists(some_state));
    CHECK(disk.exists(some_manifest));
}

TEST_CASE("a durable snapshot is trusted after a restart of the machine") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    disk.restart();
    REQUIRE_FALSE(directory->make_durable(id));
    const auto state = (store_path / (id + ".kv")).string();
    REQUIRE(disk.record().size() > 2);
    // The data and its name are safe before the manifest says so.
    CHECK(disk.record()[0] == "sync " + state);
    CHECK(disk.record()[1] == "sync " + store_path.string());
    CHECK(disk.record().back() == "sync " + store_path.string());

    auto what = manifest_in(disk, id);
    CHECK(what.synced);
    CHECK(what.checksum == *disk.checksum(state, {}));
    what.boot_id = "another boot";
    put_manifest(disk, what);
    disk.lose_unsynced_data();
    put_manifest(disk, what);
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
}

TEST_CASE("a kill while a snapshot is made durable leaves it whole") {
    captured_log lines;
    bool finished = false;
    for (unsigned killing = 1; !finished; ++killing) {
        virtual_disk disk;
        const auto directory = open_store(disk);
        const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
        disk.kill_at_step(killing);
        try {
            directory->make_durable(id);
            directory->note_restored(id, at(2000));
            finished = true;
        } catch (const killed&) {
        }
        disk.restart();
        const auto reopened = open_store(disk);
        CHECK(ids_of(reopened->snapshots()) == std::vector<std::string>{id});
        CHECK(holds_nothing_but(disk, {id}));
    }
}

TEST_CASE("a failure while a snapshot is made durable is told, and it is not called durable") {
    const auto failure = errc::make_error_code(errc::io_error);
    captured_log lines;
    unsigned failures = 0;
    unsigned steps = 0;
    for (unsigned failing = 1; steps + 1 >= failing; ++failing) {
        virtual_disk disk;
        const auto directory = open_store(disk);
        const auto old = publish(disk, *directory, token_run(1, 5)).published->manifest.id;
        REQUIRE_FALSE(directory->make_durable(old));
        const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
        disk.fail_at_step(failing, failure);
        const bool succeeded = !directory->make_durable(id);
        const auto last_step = disk.record().empty() ? "" : disk.record().back();
        steps = disk.steps();
        disk.restart();
        CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
        if (!succeeded) {
            ++failures;
            // Only the last sync can fail after the manifest has said so, and by then it is true.
            CHECK((!manifest_in(disk, id).synced || last_step.starts_with("rename")));
            CHECK(holds_nothing_but(disk, {old, id}));
        } else {
            CHECK(manifest_in(disk, id).synced);
            // What could not be removed waits for the next start.
            open_store(disk);
            CHECK(holds_nothing_but(disk, {id}));
        }
    }
    CHECK(failures == steps - 4); // not the removals, and no lock that cannot be had
}

TEST_CASE("a restore is noted and keeps what it does not know") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    auto text = disk.content(store_path / (id + ".json"));
    text.insert(text.find('{') + 1, R"("colour":"red",)");
    disk.put(store_path / (id + ".json"), text);
    REQUIRE_FALSE(directory->note_restored(id, at(2000)));
    REQUIRE_FALSE(directory->note_restored(id, at(3000)));
    const auto what = manifest_in(disk, id);
    CHECK(what.uses == 2);
    CHECK(what.last_used == at(3000));
    CHECK(what.created == at(1000));
    CHECK(what.unknown_fields == R"({"colour":"red"})");
}

TEST_CASE("what is not there cannot be noted or made durable, but can be removed") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    CHECK(directory->note_restored(some_id, at(1)) == errc::no_such_file_or_directory);
    CHECK(directory->make_durable(some_id) == errc::no_such_file_or_directory);
    CHECK_FALSE(erase(disk, some_id));
    for (const char* id : {"", "lock", "../x", "0123456789ABCDEF"}) {
        CHECK(erase(disk, id) == errc::invalid_argument);
        CHECK(directory->note_restored(id, at(1)));
        CHECK(directory->make_durable(id));
    }
    CHECK(disk.exists(store_path / "lock"));
}

TEST_CASE("a removed snapshot is gone, its manifest first") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto id = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    disk.restart();
    REQUIRE_FALSE(erase(disk, id));
    const auto file = (store_path / id).string();
    CHECK(
        disk.record() ==
        std::vector<std::string>{"remove " + file + ".json", "remove " + file + ".kv"});
    CHECK(directory->snapshots().empty());
}

TEST_CASE(
    "a snapshot that waits to be superseded costs nothing if it is removed with its successor") {
    captured_log lines;
    bool finished = false;
    for (unsigned killing = 1; !finished; ++killing) {
        virtual_disk disk;
        const auto directory = open_store(disk);
        const auto old = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
        const auto id = publish(disk, *directory, token_run(1, 20)).published->manifest.id;
        disk.kill_at_step(killing);
        try {
            const auto failed = erase(disk, id);
            CHECK_FALSE(failed);
            finished = true;
            CHECK(holds_nothing_but(disk, {}));
        } catch (const killed&) {
        }
        disk.restart();
        // The old state of a conversation that was given up never comes back.
        CHECK_FALSE(contains(ids_of(open_store(disk)->snapshots()), old));
    }
}

TEST_CASE("a new snapshot that cannot be relied on does not cost the one it supersedes") {
    captured_log lines;
    virtual_disk disk;
    auto directory = open_store(disk);
    const auto old = publish(disk, *directory, token_run(1, 9)).published->manifest.id;
    REQUIRE_FALSE(directory->make_durable(old));
    auto made = publish(disk, *directory, token_run(1, 20)).published->manifest;
    const auto state = store_path / (made.id + ".kv");
    const std::vector<std::string> only_old{old};
    const std::vector<std::string> only_new{made.id};
    CHECK(ids_of(directory->snapshots()) == only_new);

    SECTION("it was lost with the power") {
        made.boot_id = "another boot";
        put_manifest(disk, made);
    }
    SECTION("it is damaged") {
        disk.change_byte(state, 0);
    }
    SECTION("it is damaged, and its manifest says that it is synced") {
        made.synced = true;
        put_manifest(disk, made);
        disk.change_byte(state, 0);
    }
    SECTION("it is shorter than it was, and its manifest says that it is synced") {
        made.synced = true;
        put_manifest(disk, made);
        const auto content = disk.content(state);
        disk.put(state, content.substr(0, content.size() - 1));
    }
    CHECK(ids_of(directory->snapshots()) == only_old);
    CHECK(directory->make_durable(made.id) == errc::no_such_file_or_directory);
    directory.reset();
    directory = open_store(disk);
    CHECK(ids_of(directory->snapshots()) == only_old);
    REQUIRE_FALSE(erase(disk, made.id));
    CHECK(ids_of(directory->snapshots()) == only_old);
    CHECK(is_sound(disk, old));
    CHECK(holds_nothing_but(disk, only_old));
}

TEST_CASE("a start leaves what is superseded while the new snapshot is not safe") {
    virtual_disk disk;
    const auto old = publish(disk, *open_store(disk), token_run(1, 9)).published->manifest.id;
    const auto id = publish(disk, *open_store(disk), token_run(1, 20)).published->manifest.id;
    const auto directory = open_store(disk);
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
    CHECK(holds_nothing_but(disk, {old, id}));
}

TEST_CASE("a start removes what is superseded only when the new name is on the medium") {
    captured_log lines;
    unsigned steps = 0;
    for (unsigned failing = 1; steps + 1 >= failing; ++failing) {
        virtual_disk disk;
        const auto old = publish(disk, *open_store(disk), token_run(1, 9)).published->manifest.id;
        auto made = publish(disk, *open_store(disk), token_run(1, 20)).published->manifest;
        // As if it had been killed right after the manifest was replaced.
        made.synced = true;
        put_manifest(disk, made);
        disk.fail_at_step(failing, errc::make_error_code(errc::io_error));
        {
            const auto ignored =
                model_directory::open(disk, store_root, store_path.filename().string());
        }
        steps = disk.steps();
        const auto& record = disk.record();
        const auto synced = std::find(record.begin(), record.end(), "sync " + store_path.string());
        const auto removed = std::find_if(record.begin(), record.end(), [](const auto& step) {
            return step.starts_with("remove ");
        });
        CHECK((removed == record.end() || synced < removed));
        // What did not come to pass is up to the next start.
        disk.restart();
        const auto directory = open_store(disk);
        CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{made.id});
        CHECK(holds_nothing_but(disk, {made.id}));
    }
    CHECK(steps > 10);
}

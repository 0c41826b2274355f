// What publish() promises: a snapshot or a reason, whatever fails and wherever the process dies.

#include "captured_log.hpp"
#include "llama_hibernate/store/snapshot_changes.hpp"
#include "store_fixture.hpp"

using namespace hibernate::test;
using hibernate::error_code;
using hibernate::store::model_directory;
using hibernate::store::staged_save;

namespace {

const error_code disk_full =
    boost::system::errc::make_error_code(boost::system::errc::no_space_on_device);

/// A disk with one snapshot of an earlier state of the conversation, and one of another.
struct scene {
    virtual_disk disk;
    std::unique_ptr<model_directory> directory = open_store(disk);
    std::string old_id = publish(disk, *directory, token_run(1, 10)).published->manifest.id;
    std::string other_id = publish(disk, *directory, token_run(500, 10)).published->manifest.id;

    scene() {
        REQUIRE_FALSE(directory->make_durable(old_id));
        REQUIRE_FALSE(directory->make_durable(other_id));
    }
};

/// A save as it happens while serving, or at a stop, where the child must be gone before the disk
/// is waited for.
enum class saving { durable, at_stop };

void save(scene& at_start, const staged_save& staged, saving how) {
    const auto made = at_start.directory->publish(staged, at(1)).published;
    REQUIRE(made);
    if (how == saving::at_stop) {
        const auto failed = at_start.directory->make_durable(made->manifest.id);
        CHECK_FALSE(failed);
    }
}

staged_save stage_longer(scene& at_start, saving how) {
    auto staged = stage(at_start.disk, *at_start.directory, token_run(1, 20));
    staged.durable = how == saving::durable;
    return staged;
}

struct conversation {
    bool is_new = false;
    bool is_synced = false;
};

/// What is listed of the conversation, which has to be either state of it, whole, and one only; and
/// the other conversation beside it.
conversation listed_conversation(model_directory& directory, scene& at_start) {
    conversation result;
    int states = 0;
    for (const auto& one : directory.snapshots()) {
        CHECK(is_sound(at_start.disk, one.manifest.id));
        if (one.manifest.id != at_start.other_id) {
            ++states;
            result = {one.manifest.id != at_start.old_id, one.manifest.synced};
            CHECK(one.manifest.tokens == (result.is_new ? 20 : 10));
        }
    }
    CHECK(states == 1);
    CHECK(directory.snapshots().size() == 2);
    return result;
}

/// After a kill: no files but those of what is listed, and of the old state while the new one might
/// still be lost with the power.
void check_files_after_kill(const virtual_disk& disk, conversation found, const scene& at_start) {
    auto ids = ids_on_disk(disk);
    CHECK(holds_nothing_but(disk, ids));
    CHECK(contains(ids, at_start.other_id));
    CHECK(ids.size() == (found.is_new && !found.is_synced ? 3 : 2));
    CHECK(contains(ids, at_start.old_id) == !(found.is_new && found.is_synced));
}

} // namespace

TEST_CASE("a save becomes a snapshot") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto save = stage(disk, *directory, token_run(1, 300));
    const auto content = disk.content(store_path / save.staging_name);
    const auto result = directory->publish(save, at(1234));

    REQUIRE(result.published);
    CHECK(result.problem.empty());
    CHECK(result.superseded_ids.empty());
    const auto& made = result.published->manifest;
    CHECK(result.published->file_name == made.id + ".kv");
    CHECK(disk.content(store_path / result.published->file_name) == content);
    CHECK(disk.is_private(store_path / result.published->file_name));
    CHECK(holds_nothing_but(disk, {made.id}));

    const auto found = directory->snapshots();
    REQUIRE(found.size() == 1);
    const auto& read = found.front().manifest;
    CHECK(read.id == made.id);
    CHECK(read.tokens == 300);
    CHECK(read.bytes == content.size());
    CHECK(read.state_version == 4);
    CHECK(read.created == at(1234));
    CHECK(read.last_used == at(1234));
    CHECK(read.uses == 0);
    CHECK(read.reason == "idle");
    CHECK(read.slot == 1);
    CHECK(read.signature == save.signature);
    CHECK(read.model_name == "tiny");
    CHECK(read.model_path == "/models/tiny.gguf");
    CHECK(read.checksum.empty());
    CHECK_FALSE(read.synced);
}

TEST_CASE("the old snapshot is touched only when the new one is on the medium") {
    scene at_start;
    auto& disk = at_start.disk;
    auto save = stage(disk, *at_start.directory, token_run(1, 20));
    save.durable = GENERATE(false, true);
    disk.restart();
    const auto id = at_start.directory->publish(save, at(1)).published->manifest.id;

    const auto staged = (store_path / save.staging_name).string();
    const auto state = (store_path / (id + ".kv")).string();
    const auto made = (store_path / (id + ".json")).string();
    const auto old = (store_path / at_start.old_id).string();
    const auto directory = store_path.string();
    const std::vector<std::string> safe_manifest{
        "create " + made + ".tmp", "write " + made + ".tmp", "sync " + made + ".tmp",
        "rename " + made + ".tmp " + made, "sync " + directory};
    const std::vector<std::string> removal{"remove " + old + ".json", "remove " + old + ".kv"};
    std::vector<std::string> expected;
    const auto expect = [&](const std::vector<std::string>& steps) {
        expected.insert(expected.end(), steps.begin(), steps.end());
    };
    if (save.durable) {
        expect({"sync " + staged, "rename " + staged + " " + state});
    } else {
        // Nothing waits for the medium, and nothing is removed.
        expect(
            {"rename " + staged + " " + state, "create " + made + ".tmp", "write " + made + ".tmp",
             "rename " + made + ".tmp " + made});
        CHECK(disk.record() == expected);
        REQUIRE_FALSE(at_start.directory->make_durable(id));
        expect({"sync " + state, "sync " + directory});
    }
    expect(safe_manifest);
    expect(removal);
    CHECK(disk.record() == expected);
}

TEST_CASE("a conversation that went on supersedes what it began with") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    const auto first = publish(disk, *directory, token_run(1, 10)).published->manifest.id;
    const auto second = publish(disk, *directory, token_run(1, 20));
    CHECK(second.superseded_ids == std::vector<std::string>{first});
    const auto same = publish(disk, *directory, token_run(1, 20));
    CHECK(same.superseded_ids.size() == 2);
    CHECK(contains(same.superseded_ids, first));
    CHECK(contains(same.superseded_ids, second.published->manifest.id));
    const auto id = same.published->manifest.id;
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
    // None of them is on the medium yet, so any of them may be the one that a power cut leaves.
    CHECK(holds_nothing_but(disk, {first, second.published->manifest.id, id}));
    REQUIRE_FALSE(directory->make_durable(id));
    CHECK(ids_of(directory->snapshots()) == std::vector<std::string>{id});
    CHECK(holds_nothing_but(disk, {id}));
}

TEST_CASE("what became of the restores of a conversation passes on to its later states") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    std::optional<bool> answer;
    std::uint64_t length = 10;
    const auto save_next = [&](std::optional<bool> was_reused) {
        answer = was_reused;
        auto save = stage(disk, *directory, token_run(1, length++));
        save.was_reused = [&](const hibernate::store::manifest&) { return answer; };
        const auto made = directory->publish(save, at(1));
        REQUIRE(made.published);
        CHECK_FALSE(directory->make_durable(made.published->manifest.id));
        CHECK(made.reused_ids.size() == (was_reused == true ? 1 : 0));
        CHECK(made.missed_ids.size() == (was_reused == false ? 1 : 0));
        return std::pair(made.published->manifest.reused, made.published->manifest.missed);
    };
    const auto counts = [](std::uint64_t reused, std::uint64_t missed) {
        return std::pair(reused, missed);
    };
    CHECK(save_next({}) == counts(0, 0));
    CHECK(save_next(true) == counts(1, 0));
    CHECK(save_next(false) == counts(1, 1));
    CHECK(save_next({}) == counts(1, 1));
    CHECK(save_next(false) == counts(1, 2));
    CHECK(is_retired(directory->snapshots().at(0).manifest));
    const auto id = directory->snapshots().at(0).manifest.id;
    CHECK_FALSE(hibernate::store::lift_quarantine(disk, store_path, id));
    CHECK_FALSE(is_retired(directory->snapshots().at(0).manifest));
    CHECK(save_next(true) == counts(2, 0));
}

TEST_CASE("a durable save leaves nothing of the saves before it that waited for the medium") {
    scene at_start;
    auto& disk = at_start.disk;
    const auto waiting = publish(disk, *at_start.directory, token_run(1, 15)).published;
    CHECK(holds_nothing_but(disk, {at_start.old_id, at_start.other_id, waiting->manifest.id}));
    const auto made =
        at_start.directory->publish(stage_longer(at_start, saving::durable), at(1)).published;
    REQUIRE(made);
    CHECK(holds_nothing_but(disk, {at_start.other_id, made->manifest.id}));
}

TEST_CASE("a branch, a shorter save, another conversation and another signature stay") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    auto branch = token_run(1, 20);
    branch[15] = 999;
    CHECK(publish(disk, *directory, token_run(1, 20)).superseded_ids.empty());
    CHECK(publish(disk, *directory, branch).superseded_ids.empty());
    CHECK(publish(disk, *directory, token_run(1, 10)).superseded_ids.empty());
    CHECK(publish(disk, *directory, token_run(2, 30)).superseded_ids.empty());
    CHECK(publish(disk, *directory, token_run(1, 30), "b2").superseded_ids.empty());
    CHECK(directory->snapshots().size() == 5);
    // One that holds both the short and the long one supersedes both, and not the branch.
    CHECK(publish(disk, *directory, token_run(1, 25)).superseded_ids.size() == 2);
    CHECK(directory->snapshots().size() == 4);
}

TEST_CASE("no other snapshot's state file is read to learn what a save supersedes") {
    scene at_start;
    auto& disk = at_start.disk;
    auto branch = token_run(1, 20);
    branch[5] = 999;
    const auto failure = boost::system::errc::make_error_code(boost::system::errc::io_error);
    disk.fail_path(store_path / (at_start.old_id + ".kv"), failure);
    CHECK(publish(disk, *at_start.directory, branch).superseded_ids.empty());
    const auto longer = publish(disk, *at_start.directory, token_run(1, 20));
    CHECK(longer.superseded_ids == std::vector<std::string>{at_start.old_id});
}

TEST_CASE("a snapshot whose manifest says nothing of its tokens is compared by its state file") {
    captured_log lines;
    scene at_start;
    auto& disk = at_start.disk;
    const auto file = store_path / (at_start.old_id + ".json");
    auto old = hibernate::store::read_manifest(disk.content(file));
    REQUIRE(old.value);
    old.value->tokens_hash.clear();
    disk.put(file, hibernate::store::write_manifest(*old.value));
    auto branch = token_run(1, 20);
    branch[9] = 999;
    CHECK(publish(disk, *at_start.directory, branch).superseded_ids.empty());
    SECTION("it is whole") {
        const auto longer = publish(disk, *at_start.directory, token_run(1, 20));
        CHECK(longer.superseded_ids == std::vector<std::string>{at_start.old_id});
    }
    SECTION("it is damaged") {
        disk.change_byte(store_path / (at_start.old_id + ".kv"), 0);
        CHECK(publish(disk, *at_start.directory, token_run(1, 20)).superseded_ids.empty());
    }
}

TEST_CASE("a damaged snapshot is superseded as a whole one is, and one in quarantine stays") {
    captured_log lines;
    scene at_start;
    auto& disk = at_start.disk;
    disk.change_byte(store_path / (at_start.old_id + ".kv"), 0);
    auto save = stage(disk, *at_start.directory, token_run(1, 20));
    save.durable = true;
    std::vector<std::string> superseded{at_start.old_id};
    SECTION("it was not noticed yet") {}
    SECTION("it is in quarantine") {
        at_start.directory->quarantine(at_start.old_id, "reason");
        superseded.clear();
    }
    const auto made = at_start.directory->publish(save, at(1));
    REQUIRE(made.published);
    CHECK(made.superseded_ids == superseded);
    CHECK(contains(ids_on_disk(disk), at_start.old_id) == superseded.empty());
    CHECK(at_start.directory->snapshots().size() == 2);
}

TEST_CASE("a save that is not what the child said is refused and removed") {
    scene at_start;
    auto& disk = at_start.disk;
    auto save = stage(disk, *at_start.directory, token_run(1, 20));
    std::string problem;
    SECTION("an empty slot") {
        save.tokens = 0;
        problem = "the slot was empty";
    }
    SECTION("a file that was cut off") {
        const auto content = disk.content(store_path / save.staging_name);
        disk.put(store_path / save.staging_name, content.substr(0, content.size() - 1));
        problem = "bytes";
    }
    SECTION("a file that is not there") {
        disk.remove(store_path / save.staging_name);
        problem = "cannot be read";
    }
    SECTION("another number of tokens") {
        save.tokens = 21;
        problem = "the saved file has 20 tokens, but 21 were saved";
    }
    SECTION("no state file") {
        disk.put(store_path / save.staging_name, std::string(save.bytes, 'x'));
        problem = "damaged";
    }
    SECTION("a link") {
        disk.put_link(store_path / save.staging_name);
        problem = "cannot be read";
    }
    const auto result = at_start.directory->publish(save, at(1));
    CHECK_FALSE(result.published);
    CHECK(result.problem.find(problem) != std::string::npos);
    CHECK(result.superseded_ids.empty());
    CHECK(holds_nothing_but(disk, {at_start.old_id, at_start.other_id}));
    CHECK(at_start.directory->snapshots().size() == 2);
}

TEST_CASE("only staging names are published or discarded") {
    scene at_start;
    auto save = stage(at_start.disk, *at_start.directory, token_run(1, 20));
    at_start.directory->discard_staging(save.staging_name);
    CHECK_FALSE(at_start.disk.exists(store_path / save.staging_name));
    for (const auto& name :
         {at_start.old_id + ".kv", std::string("../other.kv"), std::string(),
          std::string("staging-1-2.kv/../lock"), std::string("staging-.kv")}) {
        save.staging_name = name;
        CHECK_FALSE(at_start.directory->publish(save, at(1)).published);
        at_start.directory->discard_staging(name);
    }
    CHECK(holds_nothing_but(at_start.disk, {at_start.old_id, at_start.other_id}));
}

TEST_CASE("whichever step fails, the result tells what is on the disk") {
    captured_log lines;
    const bool durable = GENERATE(false, true);
    unsigned steps = 0;
    for (unsigned failing = 1; failing == 1 || failing <= steps; ++failing) {
        scene at_start;
        auto& disk = at_start.disk;
        auto save = stage(disk, *at_start.directory, token_run(1, 20));
        save.durable = durable;
        disk.fail_at_step(failing, disk_full);
        const auto result = at_start.directory->publish(save, at(1));
        steps = disk.steps();
        disk.restart();
        const auto there = ids_of(at_start.directory->snapshots());
        const auto has = [&](const std::string& id) {
            return std::find(there.begin(), there.end(), id) != there.end();
        };
        CHECK(has(at_start.other_id));
        CHECK(result.published.has_value() == result.problem.empty());
        if (result.published) {
            CHECK(has(result.published->manifest.id));
            // One that could not be read or removed stays beside it; it is never reported as gone.
            CHECK(has(at_start.old_id) == (there.size() == 3));
            for (const auto& id : result.superseded_ids) {
                CHECK_FALSE(has(id));
            }
            if (!durable) {
                CHECK(contains(ids_on_disk(disk), at_start.old_id));
            }
        } else {
            CHECK(has(at_start.old_id));
            CHECK(there.size() == 2);
            CHECK(holds_nothing_but(disk, there));
        }
    }
    CHECK(steps > 12);
}

TEST_CASE("a disk that fails for good costs the new snapshot and nothing else") {
    captured_log lines;
    scene at_start;
    auto& disk = at_start.disk;
    const auto save = stage(disk, *at_start.directory, token_run(1, 20));
    disk.fail_path(store_path, disk_full);
    CHECK_FALSE(at_start.directory->publish(save, at(1)).published);
    CHECK(at_start.directory->snapshots().empty());
    CHECK(lines.lines_with("cannot list") == 1);
    disk.restart();
    CHECK(at_start.directory->snapshots().size() == 2);
}

TEST_CASE("a kill at any step leaves the old snapshot or the new one, whole and alone") {
    captured_log lines;
    const auto how = GENERATE(saving::durable, saving::at_stop);
    bool finished = false;
    int with_old = 0;
    int with_new = 0;
    int with_unsynced = 0;
    for (unsigned killing = 1; !finished; ++killing) {
        scene at_start;
        auto& disk = at_start.disk;
        const auto staged = stage_longer(at_start, how);
        disk.kill_at_step(killing);
        try {
            save(at_start, staged, how);
            finished = true;
        } catch (const killed&) {
        }
        if (finished) {
            CHECK(ids_on_disk(disk).size() == 2); // nothing is left for open() to do
        }
        disk.restart();
        const auto reopened = open_store(disk);
        const auto found = listed_conversation(*reopened, at_start);
        check_files_after_kill(disk, found, at_start);
        ++(found.is_new ? with_new : with_old);
        with_unsynced += found.is_new && !found.is_synced ? 1 : 0;
    }
    CHECK(with_old > 10);
    CHECK(with_new - with_unsynced >= 3); // before either removal, between them, and not at all
    CHECK((with_unsynced > 5) == (how == saving::at_stop));
}

TEST_CASE("a power cut at any step leaves the old snapshot or the new one, whole and alone") {
    captured_log lines;
    const auto how = GENERATE(saving::durable, saving::at_stop);
    const auto kept = GENERATE(unsynced::names, unsynced::names_and_manifests, unsynced::nothing);
    bool finished = false;
    int with_old = 0;
    int with_new = 0;
    for (unsigned killing = 1; !finished; ++killing) {
        scene at_start;
        auto& disk = at_start.disk;
        const auto staged = stage_longer(at_start, how);
        disk.kill_at_step(killing);
        try {
            save(at_start, staged, how);
            finished = true;
        } catch (const killed&) {
        }
        cut_power(disk, kept);
        const auto reopened = open_store(disk);
        const auto found = listed_conversation(*reopened, at_start);
        CHECK((found.is_new || !finished));
        ++(found.is_new ? with_new : with_old);
        // The new one can be there without being listed; the old one cannot.
        const auto there = ids_on_disk(disk);
        CHECK(there.size() <= (found.is_new ? 2U : 3U));
        CHECK(contains(there, at_start.old_id) == !found.is_new);
    }
    CHECK(with_old > 10);
    CHECK(with_new >= 3);
}

TEST_CASE("a power cut long after a save that was never synced leaves the old snapshot") {
    captured_log lines;
    const auto kept = GENERATE(unsynced::names, unsynced::names_and_manifests, unsynced::nothing);
    scene at_start;
    auto& disk = at_start.disk;
    auto id = publish(disk, *at_start.directory, token_run(1, 15)).published->manifest.id;
    // Neither the next start nor one more save relies on it.
    disk.restart();
    at_start.directory = open_store(disk);
    REQUIRE_FALSE(at_start.directory->note_restored(id, at(2)));
    id = publish(disk, *at_start.directory, token_run(1, 20)).published->manifest.id;
    cut_power(disk, kept);
    const auto reopened = open_store(disk);
    CHECK_FALSE(listed_conversation(*reopened, at_start).is_new);
    // What was lost must not be called safe either.
    CHECK(reopened->make_durable(id));
    CHECK_FALSE(listed_conversation(*reopened, at_start).is_new);
}

TEST_CASE("a kill right after the manifest says that it is safe is finished by the next start") {
    captured_log lines;
    const auto how = GENERATE(saving::durable, saving::at_stop);
    const auto kept = GENERATE(unsynced::names, unsynced::names_and_manifests, unsynced::nothing);
    scene at_start;
    auto& disk = at_start.disk;
    const auto staged = stage_longer(at_start, how);
    // The last steps: the manifest's name, the directory, and the two removals under a lock.
    unsigned steps = 0;
    {
        scene counted;
        const auto same = stage_longer(counted, how);
        counted.disk.restart();
        save(counted, same, how);
        steps = counted.disk.steps();
    }
    disk.kill_at_step(steps - 3);
    CHECK_THROWS_AS(save(at_start, staged, how), killed);
    REQUIRE(disk.record().back().starts_with("rename "));
    CHECK(ids_on_disk(disk).size() == 3);

    disk.restart();
    auto reopened = open_store(disk);
    CHECK(listed_conversation(*reopened, at_start).is_new);
    CHECK(ids_on_disk(disk).size() == 2);
    // The old one went only when even the power could not take the new one.
    reopened.reset();
    cut_power(disk, kept);
    CHECK(listed_conversation(*open_store(disk), at_start).is_new);
}

TEST_CASE("a kill while a kill is cleaned up is cleaned up") {
    captured_log lines;
    const auto how = GENERATE(saving::durable, saving::at_stop);
    unsigned steps = 0;
    {
        scene counted;
        const auto staged = stage_longer(counted, how);
        counted.disk.restart();
        save(counted, staged, how);
        steps = counted.disk.steps();
    }
    unsigned killing = 1;
    for (bool finished = false; !finished; ++killing) {
        scene at_start;
        auto& disk = at_start.disk;
        const auto staged = stage_longer(at_start, how);
        disk.put(store_path / "staging-7-1.kv", "part");
        disk.kill_at_step(steps - 1); // before the old manifest is removed
        CHECK_THROWS_AS(save(at_start, staged, how), killed);
        disk.restart();
        disk.kill_at_step(killing);
        try {
            model_directory::open(disk, store_root, store_path.filename().string());
            finished = true;
        } catch (const killed&) {
        }
        disk.restart();
        const auto found = listed_conversation(*open_store(disk), at_start);
        CHECK(found.is_new);
        check_files_after_kill(disk, found, at_start);
    }
    CHECK(killing > 10);
}

TEST_CASE("ids and staging names are new each time") {
    virtual_disk disk;
    std::set<std::string> seen;
    for (int round = 0; round < 3; ++round) {
        const auto directory = open_store(disk);
        for (int i = 0; i < 50; ++i) {
            CHECK(seen.insert(directory->new_staging_name()).second);
            const auto done = publish(disk, *directory, token_run(1, 5)).published;
            CHECK(seen.insert(done->manifest.id).second);
        }
    }
}

#include "llama_hibernate/store/eviction.hpp"

#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using hibernate::store::eviction_question;
using hibernate::store::has_room;
using hibernate::store::inventory;
using hibernate::store::plan_eviction;
using hibernate::store::stored_item;
using kind = stored_item::kind;

namespace {

/// A store where every item has 10 bytes. The bound is what is there, so each 10 bytes that are
/// needed cost one item.
struct table {
    inventory stored;

    stored_item& add(kind what, const std::string& id, int last_used, std::string directory) {
        auto& item = stored.items.emplace_back();
        item.what = what;
        item.id = id;
        item.directory = std::move(directory);
        item.bytes = 10;
        stored.bytes += 10;
        if (what == kind::snapshot || what == kind::quarantined) {
            item.manifest.emplace();
            item.manifest->last_used = at(last_used);
            item.manifest->signature = some_signature();
        }
        return item;
    }
    stored_item& snapshot(const std::string& id, int last_used) {
        return add(kind::snapshot, id, last_used, own_directory);
    }

    eviction_question asks_for(std::size_t items) const {
        eviction_question question;
        question.bound = {stored.bytes, 0};
        question.needed = items * 10;
        question.directory = own_directory;
        question.signature = some_signature();
        return question;
    }

    /// "id id ...", or "not enough".
    std::string victims(const eviction_question& question) const {
        const auto plan = plan_eviction(stored, question);
        if (!plan.enough) {
            CHECK(plan.victims.empty());
            return "not enough";
        }
        std::string text;
        for (const auto& one : plan.victims) {
            CHECK_FALSE(one.reason.empty());
            text += (text.empty() ? "" : " ") + stored.items[one.item].id;
        }
        return text;
    }
    std::string victims(std::size_t items) const { return victims(asks_for(items)); }
};

/// One item of each kind, the order of time against the order of their value.
table one_of_each() {
    table all;
    all.snapshot("recent", 90);
    all.snapshot("retired", 93).manifest->missed = 2;
    all.snapshot("old", 20);
    all.add(kind::snapshot, "older-elsewhere", 10, other_directory);
    all.snapshot("continued", 30);
    all.snapshot("successor", 95).manifest->supersedes = {"continued"};
    all.snapshot("other-build", 40).manifest->signature = some_signature("b0");
    all.add(kind::snapshot, "gone", 50, other_directory).manifest->model_path = "/gone.gguf";
    all.add(kind::quarantined, "quarantined", 60, own_directory).problem = "a reason";
    all.add(kind::broken, "broken", 0, other_directory).problem = "a reason";
    all.add(kind::leftover, "leftover", 0, other_directory);
    all.add(kind::foreign, "foreign", 0, own_directory);
    return all;
}

} // namespace

TEST_CASE("victims go in the order of their worth, and no more than are needed") {
    const auto all = one_of_each();
    auto question = all.asks_for(11);
    question.missing_models = {"/gone.gguf"};
    const std::string order = "leftover broken quarantined gone other-build continued retired "
                              "older-elsewhere old recent successor";
    CHECK(all.victims(question) == order);

    std::string part;
    std::size_t end = 0;
    for (std::size_t items = 1; items <= 11; ++items) {
        end = std::min(order.find(' ', end + 1), order.size());
        question.needed = items * 10;
        CHECK(all.victims(question) == order.substr(0, end));
        question.needed = items * 10 - 9; // part of an item costs the whole
        CHECK(all.victims(question) == order.substr(0, end));
    }
}

TEST_CASE("of what one start restored, the one that was saved first goes first") {
    table all;
    all.snapshot("later", 50).manifest->created = at(20);
    all.snapshot("earlier", 50).manifest->created = at(10);
    CHECK(all.victims(1) == "earlier");
    CHECK(all.victims(2) == "earlier later");
}

TEST_CASE("each victim has its reason") {
    const auto all = one_of_each();
    auto question = all.asks_for(11);
    question.missing_models = {"/gone.gguf"};
    const auto plan = plan_eviction(all.stored, question);
    REQUIRE(plan.victims.size() == 11);
    CHECK(plan.victims[0].reason == "the leftover of a save that was cut off");
    CHECK(plan.victims[1].reason == "a reason");
    CHECK(plan.victims[2].reason == "a reason");
    CHECK(plan.victims[3].reason == "its model /gone.gguf is not there any more");
    CHECK(plan.victims[4].reason == "build b0, now b1");
    CHECK(plan.victims[5].reason == "another one continues it");
    CHECK(plan.victims[6].reason == "its restores were of no use");
    CHECK(plan.victims[7].reason == "the least recently used");
}

TEST_CASE("when all of it were not enough, nothing goes") {
    const auto all = one_of_each();
    CHECK(all.victims(12) == "not enough"); // the foreign file is left
    CHECK(all.victims(0) == "");
    auto question = all.asks_for(1);
    question.needed = ~std::uint64_t{0};
    CHECK(all.victims(question) == "not enough");
}

TEST_CASE("what is pinned or in use stays") {
    table all;
    all.snapshot("pinned", 1).manifest->pinned = true;
    all.snapshot("used", 2);
    all.snapshot("free", 3);
    auto question = all.asks_for(1);
    question.in_use = {"used"};
    CHECK(all.victims(question) == "free");
    question.needed = 20;
    CHECK(all.victims(question) == "not enough");

    SECTION("pinned ones of any kind") {
        auto& broken = all.add(kind::broken, "broken", 0, own_directory);
        broken.manifest.emplace();
        broken.manifest->pinned = true;
        question.needed = 20;
        CHECK(all.victims(question) == "not enough");
    }
    SECTION("the same id in another model's directory is another snapshot") {
        all.add(kind::snapshot, "used", 0, other_directory);
        question = all.asks_for(1);
        question.in_use = {"used"};
        const auto plan = plan_eviction(all.stored, question);
        REQUIRE(plan.victims.size() == 1);
        CHECK(all.stored.items[plan.victims[0].item].directory == other_directory);
    }
}

TEST_CASE("a snapshot in use goes once another one continues it") {
    table all;
    all.snapshot("restored", 9);
    all.snapshot("unrelated", 1);
    auto question = all.asks_for(1);
    question.in_use = {"restored", "new"};
    CHECK(all.victims(question) == "unrelated");
    all.snapshot("new", 10).manifest->supersedes = {"restored"};
    question.bound.max_disk = all.stored.bytes;
    CHECK(all.victims(question) == "restored");
    question.needed = 30;
    CHECK(all.victims(question) == "not enough");
}

TEST_CASE("a snapshot that cannot be restored continues nothing") {
    table all;
    all.snapshot("old", 5);
    auto& item = all.add(kind::quarantined, "new", 9, own_directory);
    item.manifest->supersedes = {"old"};
    item.problem = "a reason";
    all.snapshot("older", 1);
    CHECK(all.victims(2) == "new older");
}

TEST_CASE("nothing goes from a directory that others use") {
    const auto all = one_of_each();
    auto question = all.asks_for(2);
    question.missing_models = {"/gone.gguf"};
    question.closed_directories = {other_directory};
    CHECK(all.victims(question) == "quarantined other-build");
    question.closed_directories = {other_directory, own_directory};
    CHECK(all.victims(question) == "not enough");
}

TEST_CASE("another signature counts in our own directory only") {
    table all;
    all.add(kind::snapshot, "elsewhere", 9, other_directory).manifest->signature =
        some_signature("b0");
    all.snapshot("own", 1);
    CHECK(all.victims(1) == "own");
}

TEST_CASE("free space counts for a save, not for the store as such") {
    table all;
    all.snapshot("old", 1);
    all.snapshot("new", 2);
    all.stored.free_bytes = 100;
    auto question = all.asks_for(0);
    question.bound = {1000, 110};
    CHECK(all.victims(question) == "");
    question.saving = true;
    CHECK_FALSE(has_room(all.stored, question));
    CHECK(all.victims(question) == "old");
    question.needed = 10;
    CHECK(all.victims(question) == "old new");
    question.needed = 11;
    CHECK(all.victims(question) == "not enough");
    // A file system that does not say is no reason to save nothing.
    all.stored.free_bytes = std::nullopt;
    CHECK(all.victims(question) == "");
}

TEST_CASE("a bound that is exactly reached is kept") {
    table all;
    all.snapshot("a", 1);
    auto question = all.asks_for(0);
    CHECK(has_room(all.stored, question));
    question.bound.max_disk -= 1;
    CHECK_FALSE(has_room(all.stored, question));
    question.bound.max_disk = 0;
    CHECK(all.victims(question) == "a");
}

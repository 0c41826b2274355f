#include "llama_hibernate/admin/status.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "some_overview.hpp"

using namespace hibernate;
using hibernate::test::some_overview;
using nlohmann::json;

TEST_CASE("the status tells what a daemon does") {
    const auto status = json::parse(admin::status_as_json(some_overview()));
    CHECK(status["version"] == "1.2.3");
    CHECK(status["state"] == "ready");
    CHECK(status["since"] == json({{"time", "2001-09-09T01:46:40Z"}, {"seconds", 90.0}}));
    CHECK(
        status["child"] == json(
                               {{"pid", 42},
                                {"build", "b1-test"},
                                {"address", "tcp"},
                                {"endpoint", "127.0.0.1:43210"}}));
    CHECK(status["not_saved"].is_null());
    CHECK(status["min_tokens"] == 256);
    CHECK(status["model"]["path"] == "/models/a.gguf");
    REQUIRE(status["slots"].size() == 2);
    CHECK(
        status["slots"][0] ==
        json({{"id", 0}, {"tokens", 1507}, {"state", "saved"}, {"snapshot", "aaaaaaaaaaaaaaaa"}}));
    CHECK(status["slots"][1]["tokens"].is_null());
    CHECK(status["slots"][1]["snapshot"].is_null());
    CHECK(status["store"]["bytes"] == 5000);
    CHECK(status["store"]["bound"] == std::uint64_t{16} << 30);
    REQUIRE(status["snapshots"].size() == 2);
    const auto& saved = status["snapshots"][0];
    CHECK(saved["tokens"] == 1507);
    CHECK(saved["created"] == "2001-09-09T01:47:30Z");
    CHECK(saved["reused"] == 2);
    CHECK(saved["pinned"] == true);
    CHECK(saved["problem"].is_null());
    CHECK(status["snapshots"][1]["tokens"].is_null());
    CHECK(status["snapshots"][1]["created"].is_null());
    CHECK(status["reuse"]["restored_tokens_reused"] == 1507);
    CHECK(status["reuse"]["seconds_saved"] == 12.5);
    CHECK(status["restore"]["skipped"] == 1);
    CHECK(status["restore"]["seconds"] == 0.085);
    CHECK(status["last_stop"]["not_saved"] == 1);
    CHECK(status["events"][1]["level"] == "error");
}

TEST_CASE("what is not known is null, and nothing is missing") {
    const auto full = json::parse(admin::status_as_json(some_overview()));
    const auto empty = json::parse(admin::status_as_json({}));
    for (const auto& [name, value] : full.items()) {
        CAPTURE(name);
        CHECK(empty.contains(name));
    }
    for (const char* name : {"child", "store", "restore", "last_stop", "not_saved", "min_tokens"}) {
        CAPTURE(name);
        CHECK(empty[name].is_null());
    }
    CHECK(empty["slots"] == json::array());
    CHECK(empty["snapshots"] == json::array());
}

TEST_CASE("names that are no UTF-8 still make JSON of one line") {
    const auto text = admin::status_as_json(some_overview());
    CHECK(text.find('\n') == text.size() - 1); // an event's data must not break off
    CHECK(text.find('\xff') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("the status says why nothing is saved, and which slots never are") {
    auto what = some_overview();
    what.not_saved = "conversations are served, but neither saved nor restored: why";
    what.slots[0].condition = admin::slot_condition::too_short;
    CHECK(admin::is_news(some_overview(), what));
    const auto status = json::parse(admin::status_as_json(what));
    CHECK(status["not_saved"] == what.not_saved);
    CHECK(status["slots"][0]["state"] == "too short to save");
}

TEST_CASE("time that goes by is no news") {
    const auto before = some_overview();
    auto after = before;
    after.now += std::chrono::hours(1);
    after.store->seen = after.now;
    after.store->free = 1;
    CHECK_FALSE(admin::is_news(before, after));
    after.slots[0].condition = admin::slot_condition::unsaved;
    CHECK(admin::is_news(before, after));
}

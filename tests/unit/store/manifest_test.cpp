#include "llama_hibernate/store/manifest.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

using hibernate::store::is_snapshot_name;
using hibernate::store::manifest;
using hibernate::store::read_manifest;
using hibernate::store::wall_time;
using hibernate::store::write_manifest;
using nlohmann::json;

namespace {

manifest example() {
    manifest what;
    what.id = "0123456789abcdef";
    what.signature.parts = {{"build", "b11669-Debian"}, {"streams", "1"}};
    what.model_name = "Modèle \"x\" / 7B";
    what.model_path = "/models/modèle 7B.gguf";
    what.tokens = 1507;
    what.bytes = 3110548;
    what.state_version = 4;
    what.created = wall_time{std::chrono::seconds{1790000000}};
    what.last_used = wall_time{std::chrono::seconds{1790000100}};
    what.uses = 3;
    what.reused = 2;
    what.missed = 1;
    what.save_time = std::chrono::microseconds(1234);
    what.prompt_tokens = 1400;
    what.boundary_gap = 3;
    what.cut_cost = 4000;
    what.boundary_of = "00000000000000aa";
    what.went_on = hibernate::store::continuation::changed;
    what.reason = "stop";
    what.slot = 2;
    what.pinned = true;
    what.quarantine = "its checksum differs";
    what.tokens_hash = "0f1e2d3c4b5a6978";
    what.checksum = "00112233445566778899aabbccddeeff";
    what.synced = true;
    what.boot_id = "4a6f8e1c";
    what.supersedes = {"fedcba9876543210"};
    return what;
}

/// The problem of the example after one change.
std::string problem_with(const std::string& field, const json& value) {
    auto object = json::parse(write_manifest(example()));
    object[field] = value;
    const auto reading = read_manifest(object.dump());
    CHECK_FALSE(reading.value);
    return reading.problem;
}

} // namespace

TEST_CASE("a manifest is read as it was written") {
    const auto written = example();
    const auto reading = read_manifest(write_manifest(written));
    REQUIRE(reading.value);
    CHECK(reading.problem.empty());
    const auto& read = *reading.value;
    CHECK(read.id == written.id);
    CHECK(read.signature == written.signature);
    CHECK(read.model_name == written.model_name);
    CHECK(read.model_path == written.model_path);
    CHECK(read.tokens == written.tokens);
    CHECK(read.bytes == written.bytes);
    CHECK(read.state_version == written.state_version);
    CHECK(read.created == written.created);
    CHECK(read.last_used == written.last_used);
    CHECK(read.uses == written.uses);
    CHECK(read.reused == written.reused);
    CHECK(read.missed == written.missed);
    CHECK(read.save_time == written.save_time);
    CHECK(read.prompt_tokens == written.prompt_tokens);
    CHECK(read.boundary_gap == written.boundary_gap);
    CHECK(read.cut_cost == written.cut_cost);
    CHECK(read.boundary_of == written.boundary_of);
    CHECK(read.went_on == written.went_on);
    CHECK(read.reason == written.reason);
    CHECK(read.slot == written.slot);
    CHECK(read.tokens_hash == written.tokens_hash);
    CHECK(read.checksum == written.checksum);
    CHECK(read.pinned == written.pinned);
    CHECK(read.quarantine == written.quarantine);
    CHECK(read.synced);
    CHECK(read.boot_id == written.boot_id);
    CHECK(read.supersedes == written.supersedes);
    CHECK(read.unknown_fields.empty());
    CHECK(write_manifest(read) == write_manifest(written));
}

TEST_CASE("a manifest that was not hashed yet is whole") {
    auto what = example();
    what.checksum.clear();
    what.synced = false;
    const auto reading = read_manifest(write_manifest(what));
    REQUIRE(reading.value);
    CHECK(reading.value->checksum.empty());
    CHECK_FALSE(reading.value->synced);
}

TEST_CASE("a manifest of an earlier version has no hash of its tokens, and none is made up") {
    auto what = example();
    what.tokens_hash.clear();
    const auto text = write_manifest(what);
    CHECK_FALSE(json::parse(text).contains("tokens_hash"));
    const auto reading = read_manifest(text);
    REQUIRE(reading.value);
    CHECK(reading.value->tokens_hash.empty());
    CHECK(write_manifest(*reading.value) == text);
}

TEST_CASE("fields that we do not know are written again") {
    auto object = json::parse(write_manifest(example()));
    object["pinned"] = true;
    object["receipts"] = {{"reused", 5}, {"missed", {1, 2}}};
    const auto reading = read_manifest(object.dump());
    REQUIRE(reading.value);
    auto changed = *reading.value;
    changed.uses = 9;
    const auto again = json::parse(write_manifest(changed));
    CHECK(again["pinned"] == true);
    CHECK(again["receipts"] == object["receipts"]);
    CHECK(again["uses"] == 9);
}

TEST_CASE("what we know is never overwritten by what is kept") {
    auto what = example();
    what.unknown_fields = R"({"id":"ffffffffffffffff","tokens":1,"other":1})";
    const auto reading = read_manifest(write_manifest(what));
    REQUIRE(reading.value);
    CHECK(reading.value->id == what.id);
    CHECK(reading.value->tokens == what.tokens);
    CHECK(reading.value->unknown_fields == R"({"other":1})");
}

TEST_CASE("a later format is refused with a sentence, an impossible one too") {
    CHECK(
        problem_with("format", 2) ==
        "its format 2 is newer than 1, the newest that this version reads");
    CHECK(problem_with("format", 0).find("\"format\"") != std::string::npos);
    CHECK(problem_with("format", "1").find("\"format\"") != std::string::npos);
    // Even when nothing else in it is as we know it.
    CHECK(read_manifest(R"({"format": 7})").problem.find("newer") != std::string::npos);
}

TEST_CASE("every field but those of later versions has to be there") {
    auto what = example();
    what.tokens_hash.clear();
    auto whole = json::parse(write_manifest(what));
    for (const auto* added :
         {"reused", "missed", "save_us", "prompt_tokens", "boundary_of", "boundary_gap", "cut_cost",
          "went_on"}) {
        CHECK(whole.erase(added) == 1);
    }
    CHECK(whole.size() == 20);
    CHECK(read_manifest(whole.dump()).value);
    for (const auto& [name, value] : whole.items()) {
        auto lacking = whole;
        lacking.erase(name);
        const auto reading = read_manifest(lacking.dump());
        CHECK_FALSE(reading.value);
        CHECK(reading.problem.find("\"" + name + "\"") != std::string::npos);
    }
}

TEST_CASE("types and ranges are checked") {
    CHECK(problem_with("id", "0123456789ABCDEF") == "its \"id\" is not 16 lower-case hex digits");
    for (const json& value :
         {json("0123"), json("0123456789abcdefa"), json("../../etc/passwd"), json(12)}) {
        problem_with("id", value);
    }
    for (const json& value :
         {json(0), json(-1), json(1.5), json("7"), json(nullptr), json(std::uint64_t{1} << 31)}) {
        CHECK(problem_with("tokens", value).find("whole number") != std::string::npos);
    }
    problem_with("bytes", 0);
    problem_with("bytes", std::uint64_t{1} << 63);
    problem_with("state_version", std::uint64_t{1} << 32);
    problem_with("created_ms", -1);
    problem_with("created_ms", 253402300800000);
    problem_with("last_used_ms", "2026-01-01");
    problem_with("uses", -1);
    problem_with("slot", -1);
    problem_with("slot", std::uint64_t{1} << 31);
    problem_with("checksum", "0011");
    CHECK(problem_with("tokens_hash", "") == "its \"tokens_hash\" is not 16 lower-case hex digits");
    problem_with("tokens_hash", "0F1E2D3C4B5A6978");
    problem_with("tokens_hash", nullptr);
    problem_with("tokens_hash", 7);
    problem_with("synced", 1);
    problem_with("boot_id", nullptr);
    problem_with("reason", json::array());
    problem_with("model_name", 7);
    problem_with("model_path", nullptr);
    problem_with("signature", json::array({"a"}));
    problem_with("signature", {{"streams", 1}});
    problem_with("supersedes", "fedcba9876543210");
    problem_with("supersedes", json::array({"fedcba9876543210", "../x"}));
}

TEST_CASE("what is no JSON object is refused") {
    for (const char* text :
         {"", "{", "[]", "7", "null", "{\"id\":}", "\xff\xfe", "{\"id\":\"\xff\"}", "{} {}"}) {
        const auto reading = read_manifest(text);
        CHECK_FALSE(reading.value);
        CHECK_FALSE(reading.problem.empty());
    }
}

TEST_CASE("every cut of a manifest is refused") {
    const auto whole = write_manifest(example());
    for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
        CHECK_FALSE(read_manifest(whole.substr(0, length)).value);
    }
}

TEST_CASE("endless nesting is refused, not followed") {
    const auto with_nesting = [](std::size_t levels) {
        auto text = write_manifest(example());
        return text.insert(
            text.find('{') + 1,
            "\"x\":" + std::string(levels, '[') + std::string(levels, ']') + ",");
    };
    CHECK_FALSE(read_manifest(with_nesting(500'000)).value);
    CHECK_FALSE(read_manifest(with_nesting(50)).value);
    CHECK_FALSE(read_manifest(std::string(500'000, '[')).value);
    const auto reading = read_manifest(with_nesting(10));
    REQUIRE(reading.value);
    CHECK(reading.value->unknown_fields == R"({"x":[[[[[[[[[[]]]]]]]]]]})");
}

TEST_CASE("a name that is no UTF-8 does not keep a manifest from being written") {
    auto what = example();
    what.model_name = "caf\xe9";
    const auto reading = read_manifest(write_manifest(what));
    REQUIRE(reading.value);
    CHECK(reading.value->model_name.substr(0, 3) == "caf");
}

TEST_CASE("the names of snapshots are 16 hex digits and an extension") {
    CHECK(is_snapshot_name("0123456789abcdef.kv", ".kv"));
    CHECK(is_snapshot_name("0123456789abcdef.json", ".json"));
    for (const char* name :
         {"0123456789abcdef.json", "0123456789ABCDEF.kv", "0123456789abcde.kv", ".kv", "",
          "0123456789abcdef0.kv", "0123456789abcdef.kv.tmp", "my-own-file.kv"}) {
        CHECK_FALSE(is_snapshot_name(name, ".kv"));
    }
}

#include "llama_hibernate/llama/state_trailers.hpp"

#include "catch.hpp"
#include "state_bytes.hpp"
#include "virtual_disk.hpp"

using namespace hibernate;
using namespace hibernate::test;

namespace {

std::string numbers(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) {
        out += static_cast<char>(value >> 8 * i & 0xff);
    }
    return out;
}

std::string data(std::size_t bytes) {
    return numbers(bytes, 8) + std::string(bytes, 'd');
}

std::string checkpoint(std::uint64_t tokens, std::size_t bytes, std::size_t draft_bytes = 0) {
    return numbers(tokens, 8) + numbers(0, 4) + numbers(tokens - 1, 4) + data(bytes) +
           data(draft_bytes) + data(0);
}

std::string checkpoints(const std::vector<std::string>& all) {
    auto bytes = "SCKP" + numbers(1, 4) + numbers(all.size(), 4);
    for (const auto& each : all) {
        bytes += each;
    }
    return bytes;
}

std::string draft(std::size_t model_bytes, std::size_t other_bytes = 0) {
    return "SDFT" + numbers(1, 4) + data(model_bytes) + data(other_bytes);
}

const std::string state = state_file(token_run(1, 50), 3000);

llama::trailer_reading read(const std::string& file, const llama::trailer_search& limits = {}) {
    virtual_disk disk;
    disk.put("/a.kv", file);
    const auto head = llama::read_state_file_head(disk, "/a.kv");
    REQUIRE(head.head);
    auto reading = llama::read_state_trailers(disk, "/a.kv", *head.head, limits);
    CHECK(reading.trailers.has_value() == reading.problem.empty());
    return reading;
}

llama::state_trailers trailers_of(const std::string& file) {
    const auto reading = read(file);
    REQUIRE(reading.trailers);
    return *reading.trailers;
}

} // namespace

TEST_CASE("trailers: most files have none") {
    const auto found = trailers_of(state);
    CHECK(found.checkpoints.empty());
    CHECK_FALSE(found.draft);
    CHECK(found.state_end == state.size());
}

TEST_CASE("trailers: checkpoints are found behind the KV state") {
    const auto found =
        trailers_of(state + checkpoints({checkpoint(20, 700), checkpoint(46, 800, 8)}));
    REQUIRE(found.checkpoints.size() == 2);
    CHECK(found.checkpoints[0].tokens == 20);
    CHECK(found.checkpoints[0].first_position == 0);
    CHECK(found.checkpoints[0].last_position == 19);
    CHECK(found.checkpoints[0].bytes == 700);
    CHECK(found.checkpoints[1].bytes == 808);
    CHECK(found.state_end == state.size());
    CHECK_FALSE(found.draft);
}

TEST_CASE("trailers: a draft's state alone, and behind checkpoints") {
    const auto alone = trailers_of(state + draft(500, 20));
    CHECK(alone.draft);
    CHECK(alone.draft_bytes == 520);
    CHECK(alone.state_end == state.size());
    CHECK(alone.checkpoints.empty());

    const auto both = trailers_of(state + checkpoints({checkpoint(46, 800)}) + draft(500));
    CHECK(both.draft);
    CHECK(both.draft_bytes == 500);
    CHECK(both.checkpoints.size() == 1);
    CHECK(both.state_end == state.size());
}

TEST_CASE("trailers: larger than what is read at once, wherever the blocks' borders fall") {
    constexpr std::size_t mebibyte = std::size_t{1024} * 1024;
    const auto bare = checkpoints({checkpoint(46, 0), checkpoint(48, 0)}).size();
    for (std::size_t shift = 0; shift < 6; ++shift) {
        // The magic word begins `shift` bytes before a border that is a MiB from the end.
        const auto found = trailers_of(
            state + checkpoints({checkpoint(46, mebibyte - bare + shift), checkpoint(48, 0)}));
        CHECK(found.checkpoints.size() == 2);
        CHECK(found.state_end == state.size());
    }
    const auto far = trailers_of(
        state + checkpoints({checkpoint(46, 3 * mebibyte), checkpoint(48, 100)}) +
        draft(2 * mebibyte));
    CHECK(far.checkpoints.size() == 2);
    CHECK(far.state_end == state.size());
}

TEST_CASE("trailers: a damaged one is none") {
    const auto good = checkpoints({checkpoint(20, 700), checkpoint(46, 800)});
    for (const auto& damaged :
         {good.substr(0, good.size() - 1), good + "x", "SCKP" + numbers(2, 4) + good.substr(8),
          "SCKP" + numbers(1, 4) + numbers(3, 4) + good.substr(12),
          "SCKP" + numbers(1, 4) + numbers(0, 4), "SCKP" + numbers(1, 4) + numbers(~0U, 4),
          std::string("SCKP"), draft(100).substr(0, 100), std::string("SDFT"),
          "SDFT" + numbers(1, 4) + numbers(~std::uint64_t{0}, 8) + data(0)}) {
        const auto found = trailers_of(state + damaged);
        CHECK(found.checkpoints.empty());
        CHECK_FALSE(found.draft);
    }
}

TEST_CASE("trailers: magic words within data are not taken for trailers") {
    const auto fakes = state + "SCKPSDFT" + std::string(100, 'x') + "SDFTSCKP";
    CHECK(trailers_of(fakes).checkpoints.empty());
    CHECK_FALSE(trailers_of(fakes).draft);

    // The last checkpoint's data end as a draft's state would.
    auto last = numbers(46, 8) + numbers(0, 4) + numbers(45, 4) + data(10) + data(0);
    const auto inner = draft(30);
    last += numbers(inner.size(), 8) + inner;
    const auto found = trailers_of(state + checkpoints({last}));
    CHECK(found.checkpoints.size() == 1);
    CHECK_FALSE(found.draft);
    CHECK(found.draft_bytes == 0);
}

TEST_CASE("trailers: a search that would take too long ends without an answer") {
    const auto far = state + std::string(5'000'000, 'k');
    CHECK(read(far, {2'000'000, 1000}).problem == "nothing was found in its last 1.00 MiB");

    std::string decoys;
    for (int i = 0; i < 2000; ++i) {
        decoys += "SCKP" + numbers(1, 4) + numbers(1000, 4) + std::string(60, '\0');
    }
    const auto reading = read(state + decoys, {1'000'000, 500});
    CHECK(reading.problem.find("more places") != std::string::npos);
}

TEST_CASE("trailers: every failure while they are read is a problem") {
    const auto file = state + checkpoints({checkpoint(20, 700)});
    virtual_disk disk;
    disk.put("/a.kv", file);
    const auto head = llama::read_state_file_head(disk, "/a.kv").head;
    REQUIRE(head);
    for (unsigned failing = 1; failing <= 3; ++failing) {
        disk.fail_at_step(
            failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
        const auto reading = llama::read_state_trailers(disk, "/a.kv", *head);
        CHECK_FALSE(reading.trailers);
        CHECK(reading.problem.find("cannot be read") == 3);
    }
}

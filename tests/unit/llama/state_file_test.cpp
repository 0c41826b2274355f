#include "llama_hibernate/llama/state_file.hpp"

#include <limits>

#include "catch.hpp"
#include "state_bytes.hpp"
#include "virtual_disk.hpp"

using hibernate::llama::continues;
using hibernate::llama::parse_state_file_head;
using hibernate::llama::read_state_file_head;
using hibernate::llama::read_state_file_start;
using hibernate::llama::state_file_head;
using hibernate::llama::token;
using namespace hibernate::test;

namespace {

using words = std::vector<std::uint32_t>;

/// As llama-server b11669 wrote it: the first 88 bytes of a file of 9536.
const std::string recorded_head(
    "\x71\x73\x67\x67\x04\x00\x00\x00\x10\x00\x00\x00\xff\xff\xff\xff\x01\x00\x00\x00\x0c\x00"
    "\x00\x00\x73\x00\x00\x00\x68\x00\x00\x00\x6f\x00\x00\x00\x72\x00\x00\x00\x74\x00\x00\x00"
    "\x00\x01\x00\x00\x65\x00\x00\x00\x78\x00\x00\x00\x74\x00\x00\x00\x30\x01\x00\x00\x15\x01"
    "\x00\x00\x21\x01\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00",
    88);

hibernate::llama::state_file_reading parse(const std::string& whole) {
    return parse_state_file_head(whole, whole.size());
}

std::string problem_of(const words& list) {
    const auto reading = parse(state_head(list) + "body");
    CHECK_FALSE(reading.head);
    return reading.problem;
}

} // namespace

TEST_CASE("the head of a recorded state file is read") {
    const auto reading = parse_state_file_head(recorded_head, 9536);
    REQUIRE(reading.head);
    CHECK(reading.problem.empty());
    CHECK(reading.head->version == 4);
    CHECK(
        reading.head->tokens ==
        std::vector<token>{
            0x73, 0x68, 0x6f, 0x72, 0x74, 0x100, 0x65, 0x78, 0x74, 0x130, 0x115, 0x121});
    CHECK(reading.head->media.empty());
}

TEST_CASE("the file of an empty slot has no tokens") {
    const auto reading = parse(state_head({0xffffffff, 1, 0, 0}) + std::string(12, '\0'));
    REQUIRE(reading.head);
    CHECK(reading.head->tokens.empty());
}

TEST_CASE("a plain token list of older builds is read") {
    const auto reading = parse(state_head({7, 8, 9}, 2) + "body");
    REQUIRE(reading.head);
    CHECK(reading.head->version == 2);
    CHECK(reading.head->tokens == std::vector<token>{7, 8, 9});

    const auto empty = parse(state_head({}, 2) + "body");
    REQUIRE(empty.head);
    CHECK(empty.head->tokens.empty());
}

TEST_CASE("media positions are tokens, and what stands there is kept") {
    const words media{1, 2, 8, 0x64636261, 0x68676665};
    const auto reading = parse(state_head(packed_words({5, 6, -1, -1, 7}, media)) + "body");
    REQUIRE(reading.head);
    CHECK(reading.head->tokens == std::vector<token>{5, 6, -1, -1, 7});
    CHECK(reading.head->media.size() == media.size());
}

TEST_CASE("what is no state file is refused") {
    CHECK(parse("").problem == "it is cut off: it has 0 bytes");
    CHECK(parse(std::string("qsgg\4\0\0", 7)).problem.find("cut off") != std::string::npos);
    CHECK(parse("GGUF0000000000000000000").problem == "it does not begin as a state file does");
}

TEST_CASE("a file that ends within its head, or with it, is refused") {
    const auto whole = state_file({1, 2, 3}, 1);
    REQUIRE(parse(whole).head);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto reading = parse(whole.substr(0, length));
        CHECK_FALSE(reading.head);
        CHECK_FALSE(reading.problem.empty());
    }
    // The file is whole, but only a part of the head was handed over.
    CHECK_FALSE(parse_state_file_head(whole.substr(0, 20), whole.size()).head);
    CHECK_FALSE(parse_state_file_head(whole.substr(0, 5), whole.size()).head);
}

TEST_CASE("a word count beyond the file, or beyond any context, is refused and not allocated") {
    const auto claimed = GENERATE(
        std::uint32_t{26}, std::uint32_t{0x7fffffff}, std::uint32_t{0x80000000},
        std::numeric_limits<std::uint32_t>::max());
    std::string file = "qsgg";
    append_word(file, 4);
    append_word(file, claimed);
    file += std::string(100, '\0');
    CHECK_FALSE(parse(file).head);
    CHECK_FALSE(parse_state_file_head(file, 112).head);
    if (claimed > 26) {
        // In a file of that size too: 256 MiB of tokens are none.
        CHECK(
            parse_state_file_head(file, std::uint64_t{1} << 40).problem.find("claims") !=
            std::string::npos);
    }
}

TEST_CASE("a packed list that contradicts itself is refused") {
    const words::value_type mark = 0xffffffff;
    CHECK(problem_of({mark}) == "its token list has only 1 words");
    CHECK(problem_of({mark, 1, 0}) == "its token list has only 3 words");
    CHECK(problem_of({mark, 2, 0, 0}) == "its token list is of the unknown version 2");
    CHECK(problem_of({mark, 1, 3, 7, 8, 0}) == "its token list claims 3 tokens in 6 words");
    CHECK(
        problem_of({mark, 1, 0xffffffff, 7, 8, 0}) ==
        "its token list claims 4294967295 tokens in 6 words");
    CHECK(
        problem_of({mark, 1, 1, 7, 0, 0}) ==
        "its token list has 2 words after its 1 tokens, and 0 media");
    CHECK(problem_of({mark, 1, 1, 7, 9}).find("9 media") != std::string::npos);
    CHECK(problem_of({mark, 1, 1, 0xfffffff0, 0}) == "its token list contains the token -16");
    // A media position without media.
    CHECK(problem_of({mark, 1, 2, 7, mark, 0}) == "its token list contains the token -1");
    CHECK(problem_of({7, mark}) == "its token list contains the token -1");
}

TEST_CASE("only the head is read from the disk") {
    virtual_disk disk;
    disk.put("/store/a.kv", state_file({1, 2, 3}, 5'000'000));
    const auto reading = read_state_file_head(disk, "/store/a.kv");
    REQUIRE(reading.head);
    CHECK(reading.head->tokens == std::vector<token>{1, 2, 3});

    CHECK(read_state_file_head(disk, "/store/none").problem.find("cannot be read") == 3);
    disk.put_link("/store/link.kv");
    CHECK(read_state_file_head(disk, "/store/link.kv").problem.find("cannot be read") == 3);
}

TEST_CASE("every failure while it is read is a problem") {
    for (unsigned failing = 1; failing <= 3; ++failing) {
        virtual_disk disk;
        disk.put("/a.kv", state_file({1, 2, 3}));
        disk.fail_at_step(
            failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
        const auto reading = read_state_file_head(disk, "/a.kv");
        CHECK_FALSE(reading.head);
        CHECK_FALSE(reading.problem.empty());
    }
    for (unsigned failing = 1; failing <= 2; ++failing) {
        virtual_disk disk;
        disk.put("/a.kv", state_file({1, 2, 3}));
        disk.fail_at_step(
            failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
        const auto reading = read_state_file_start(disk, "/a.kv");
        CHECK_FALSE(reading.start);
        CHECK_FALSE(reading.problem.empty());
    }
}

TEST_CASE("the start of a state file tells what its head would, in one short reading") {
    const words media{1, 2, 8, 0x64636261, 0x68676665};
    const auto mark = words::value_type{0xffffffff};
    const std::string files[]{
        state_file({1, 2, 3}, 5'000'000), state_file({}), state_file({}, 1, 9),
        state_head({7, 8, 9}, 2) + "body", state_head({7, 8}, 2) + "b", state_head({7}, 2) + "b",
        state_head({}, 2) + "body", state_head(packed_words({5, 6, -1, -1, 7}, media)) + "body",
        // What is no head, in ways that its start shows.
        "", "qsgg", "GGUF0000000000000000000", state_head({7, 8, 9}),
        state_file({1, 2, 3}).substr(0, 25), state_head({mark}) + "body",
        state_head({mark, 1, 0}) + "body", state_head({mark, 2, 0, 0}) + "body",
        state_head({mark, 1, 3, 7, 8, 0}) + "body",
        state_head({mark, 1, 0xffffffff, 7, 8, 0}) + "body"};
    for (const auto& content : files) {
        CAPTURE(content.size());
        virtual_disk disk;
        disk.put("/a.kv", content);
        const auto head = read_state_file_head(disk, "/a.kv");
        const auto start = read_state_file_start(disk, "/a.kv");
        CHECK(start.problem == head.problem);
        REQUIRE(start.start.has_value() == head.head.has_value());
        if (head.head) {
            CHECK(start.start->version == head.head->version);
            CHECK(start.start->tokens == head.head->tokens.size());
        }
    }
    // The tokens themselves are no part of it.
    virtual_disk disk;
    disk.put("/a.kv", state_head(packed_words({1, -16, 3})) + "body");
    const auto start = read_state_file_start(disk, "/a.kv");
    REQUIRE(start.start);
    CHECK(start.start->tokens == 3);
    disk.put_link("/link.kv");
    CHECK(read_state_file_start(disk, "/link.kv").problem.find("cannot be read") == 3);
}

TEST_CASE("a conversation continues another when its tokens begin with the other's") {
    const state_file_head shorter{4, {1, 2, 3}, {}};
    CHECK(continues({4, {1, 2, 3, 4}, {}}, shorter));
    CHECK(continues(shorter, shorter));
    CHECK_FALSE(continues({4, {1, 2}, {}}, shorter));
    CHECK_FALSE(continues({4, {1, 2, 4, 3}, {}}, shorter));
    CHECK(continues(shorter, {4, {}, {}}));
}

TEST_CASE("different images at the same positions make different conversations") {
    const state_file_head cat{4, {1, -1, -1, 2}, {1, 1, 4, 'c'}};
    const state_file_head dog{4, {1, -1, -1, 2, 3}, {1, 1, 4, 'd'}};
    CHECK_FALSE(continues(dog, cat));
    CHECK(continues({4, {1, -1, -1, 2, 3}, cat.media}, cat));
    // Text before the first image is text.
    CHECK(continues(cat, {4, {1}, {}}));
}

TEST_CASE("a head can be cut to its first tokens, and stays of its kind") {
    const auto all = token_run(100, 50);
    const words plain(all.begin(), all.end());
    for (const auto& list : {packed_words(all), plain}) {
        const auto whole = parse(state_head(list, 3) + "body");
        REQUIRE(whole.head);
        for (const std::size_t count : {1, 30, 50}) {
            const auto cut = shortened(*whole.head, count);
            const auto reading = parse(cut + "body");
            REQUIRE(reading.head);
            CHECK(reading.head->version == 3);
            CHECK(reading.head->tokens == token_run(100, count));
            CHECK(reading.head->media.empty());
            CHECK(reading.head->bytes == cut.size());
            CHECK(cut.size() + 4 * (50 - count) == whole.head->bytes);
        }
        CHECK(shortened(*whole.head, 50) == state_head(list, 3));
    }
}

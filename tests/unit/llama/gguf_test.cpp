#include "llama_hibernate/llama/gguf.hpp"

#include <bit>
#include <limits>

#include "catch.hpp"
#include "gguf_bytes.hpp"
#include "virtual_disk.hpp"

using hibernate::llama::gguf_reading;
using hibernate::llama::gguf_value;
using namespace hibernate::test;

namespace {

gguf_reading read(const std::string& bytes) {
    virtual_disk disk;
    disk.put("/a.gguf", bytes);
    auto reading = hibernate::llama::read_gguf(disk, "/a.gguf");
    REQUIRE(reading.has_value());
    CHECK(reading->header.has_value() == reading->problem.empty());
    return std::move(*reading);
}

std::string problem_of(const std::string& bytes) {
    return read(bytes).problem;
}

std::string small_model() {
    return gguf_file(
        {gguf_entry("general.name", gguf_text("tiny")), gguf_entry("split.no", gguf_u16(1)),
         gguf_entry("split.count", gguf_u16(3)),
         gguf_entry("tokens", gguf_array(8, 2, gguf_raw_text("a") + gguf_raw_text("bc"))),
         gguf_entry("scores", gguf_array(6, 3, std::string(12, 'f')))},
        {gguf_tensor("token_embd.weight", {64, 300}), gguf_tensor("output.weight", {64, 300})});
}

} // namespace

TEST_CASE("gguf: a header is read up to its end") {
    const auto header = small_model();
    const auto reading = read(header + std::string(5000, 'w'));
    REQUIRE(reading.header);
    CHECK(reading.header->version == 3);
    CHECK(reading.header->tensor_count == 2);
    CHECK(reading.header->bytes == header.size());
    CHECK(reading.header->split_count() == 3);
    CHECK(reading.header->split_number() == 1);
    CHECK(reading.header->metadata.at("general.name") == gguf_value("tiny"));
    CHECK_FALSE(reading.header->metadata.contains("tokens"));
    CHECK_FALSE(reading.header->metadata.contains("scores"));
}

TEST_CASE("gguf: version 2 is read, others are refused") {
    CHECK(read(gguf_file({}, {}, 2)).header);
    CHECK(problem_of(gguf_file({}, {}, 1)) == "its GGUF version is 1");
    CHECK(problem_of(gguf_file({}, {}, 4)) == "its GGUF version is 4");
    CHECK_FALSE(problem_of(gguf_file({}, {}, 0x03000000)).empty()); // the other byte order
}

TEST_CASE("gguf: every type of value is read") {
    const auto header = *read(gguf_file(
                                  {gguf_entry("u8", gguf_number(0, 1, 200)),
                                   gguf_entry("i8", gguf_number(1, 1, 0xff)),
                                   gguf_entry("u16", gguf_number(2, 2, 60000)),
                                   gguf_entry("i16", gguf_number(3, 2, 0xfffe)),
                                   gguf_entry("u32", gguf_number(4, 4, 4000000000)),
                                   gguf_entry("i32", gguf_number(5, 4, 0xfffffffd)),
                                   gguf_entry("f32", gguf_number(6, 4, 0x3fc00000)),
                                   gguf_entry("bool", gguf_number(7, 1, 1)),
                                   gguf_entry("u64", gguf_number(10, 8, ~std::uint64_t{0})),
                                   gguf_entry("i64", gguf_number(11, 8, ~std::uint64_t{0})),
                                   gguf_entry("f64", gguf_number(12, 8, 0x3ff8000000000000))},
                                  {}))
                             .header;
    CHECK(header.metadata.at("u8") == gguf_value(std::uint64_t{200}));
    CHECK(header.metadata.at("i8") == gguf_value(std::int64_t{-1}));
    CHECK(header.metadata.at("u16") == gguf_value(std::uint64_t{60000}));
    CHECK(header.metadata.at("i16") == gguf_value(std::int64_t{-2}));
    CHECK(header.metadata.at("u32") == gguf_value(std::uint64_t{4000000000}));
    CHECK(header.metadata.at("i32") == gguf_value(std::int64_t{-3}));
    CHECK(header.metadata.at("f32") == gguf_value(1.5));
    CHECK(header.metadata.at("bool") == gguf_value(true));
    CHECK(header.metadata.at("u64") == gguf_value(~std::uint64_t{0}));
    CHECK(header.metadata.at("i64") == gguf_value(std::int64_t{-1}));
    CHECK(header.metadata.at("f64") == gguf_value(1.5));
    CHECK(header.whole_number("u16") == 60000);
    CHECK_FALSE(header.whole_number("i8"));
    CHECK_FALSE(header.whole_number("f32"));
    CHECK_FALSE(header.whole_number("none"));
    CHECK(header.split_count() == 1);
}

TEST_CASE("gguf: a short array of whole numbers is a list, others are not kept") {
    const auto minus_one = gguf_u32(0xffffffff);
    const auto longest = gguf_array(0, 1024, std::string(1024, '\1'));
    const auto too_long = gguf_array(0, 1025, std::string(1025, '\1'));
    const auto texts = gguf_array(8, 2, gguf_raw_text("a") + gguf_raw_text("b"));
    const auto bytes = gguf_file(
        {gguf_entry("heads", gguf_array(5, 3, gguf_u32(0) + gguf_u32(8) + gguf_u32(4))),
         gguf_entry("none", gguf_array(4, 0, "")), gguf_entry("longest", longest),
         gguf_entry("too long", too_long), gguf_entry("texts", texts),
         gguf_entry("negative", gguf_array(5, 2, gguf_u32(1) + minus_one)),
         gguf_entry("flags", gguf_array(7, 2, "\1\1")),
         gguf_entry("fractions", gguf_array(6, 1, "ffff")), gguf_entry("after", gguf_u16(7))},
        {});
    const auto header = *read(bytes).header;
    REQUIRE(header.list("heads") != nullptr);
    CHECK(*header.list("heads") == hibernate::llama::gguf_list{0, 8, 4});
    REQUIRE(header.list("none") != nullptr);
    CHECK(header.list("none")->empty());
    REQUIRE(header.list("longest") != nullptr);
    CHECK(header.list("longest")->size() == 1024);
    for (const auto* other : {"too long", "texts", "negative", "flags", "fractions"}) {
        CHECK_FALSE(header.metadata.contains(other));
    }
    CHECK(header.list("after") == nullptr);
    CHECK_FALSE(header.whole_number("heads"));
    CHECK(header.whole_number("after") == 7);
    CHECK(header.bytes == bytes.size());
}

TEST_CASE("gguf: a tokenizer larger than what is read at once is walked") {
    std::string tokens;
    constexpr std::uint64_t count = 40'000;
    for (std::uint64_t i = 0; i < count; ++i) {
        tokens += gguf_raw_text(std::string(i % 7, 't'));
    }
    const auto bytes = gguf_file(
        {gguf_entry("tokens", gguf_array(8, count, tokens)), gguf_entry("after", gguf_u16(7)),
         gguf_entry("long", gguf_text(std::string(70'000, 'x')))},
        {gguf_tensor("t", {1, 2, 3, 4})});
    const auto reading = read(bytes + "weights");
    REQUIRE(reading.header);
    CHECK(reading.header->bytes == bytes.size());
    CHECK(reading.header->whole_number("after") == 7);
    CHECK_FALSE(reading.header->metadata.contains("long"));
}

TEST_CASE("gguf: a file that ends within its header has none") {
    const auto whole = small_model();
    REQUIRE(read(whole).header);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto reading = read(whole.substr(0, length));
        CHECK_FALSE(reading.header);
        CHECK_FALSE(reading.problem.empty());
    }
}

TEST_CASE("gguf: counts and lengths beyond the file are refused at once") {
    const auto huge = GENERATE(
        std::uint64_t{1} << 20, std::uint64_t{1} << 61, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max());
    CHECK_FALSE(problem_of(gguf_start(3, huge, 0)).empty());
    CHECK_FALSE(problem_of(gguf_start(3, 0, huge)).empty());
    CHECK_FALSE(problem_of(gguf_start(3, 0, 1) + gguf_u64(huge) + "key").empty());
    CHECK_FALSE(problem_of(gguf_start(3, huge, 0) + std::string(1000, '\0')).empty());
    CHECK_FALSE(problem_of(gguf_start(3, 0, huge) + std::string(1000, '\0')).empty());
    CHECK_FALSE(problem_of(gguf_file({gguf_entry("s", gguf_u32(8) + gguf_u64(huge))}, {})).empty());
    for (const std::uint32_t type : {0U, 5U, 8U, 12U}) {
        CHECK_FALSE(
            problem_of(gguf_file({gguf_entry("a", gguf_array(type, huge, "x"))}, {})).empty());
    }
    CHECK_FALSE(problem_of(gguf_start(3, 1, 0) + gguf_u64(huge)).empty());
}

TEST_CASE("gguf: what no writer writes is refused") {
    CHECK(problem_of("") == "its header goes beyond its end at 0 bytes");
    CHECK(problem_of(std::string(100, 'x')) == "it does not begin as a GGUF file does");
    CHECK(
        problem_of(gguf_file({gguf_entry("k", gguf_u32(13) + "12345678")}, {})) ==
        "its \"k\" is of the unknown type 13");
    CHECK(
        problem_of(gguf_file({gguf_entry("k", gguf_array(9, 1, "12345678"))}, {})) ==
        "its \"k\" is an array of the unknown type 9");
    CHECK(
        problem_of(gguf_file({gguf_entry("k", gguf_u16(1)), gguf_entry("k", gguf_u16(1))}, {})) ==
        "its header has \"k\" twice");
    CHECK(
        problem_of(gguf_file({}, {gguf_tensor("t", {1, 2, 3, 4, 5, 6, 7, 8, 9})})) ==
        "it has a tensor of 9 dimensions");
    CHECK(
        problem_of(gguf_file({gguf_entry(std::string(70'000, 'k'), gguf_u16(1))}, {})) ==
        "its header has a key of 70000 bytes");
}

TEST_CASE("gguf: metadata beyond what any model has is not kept in memory") {
    std::vector<std::string> entries;
    for (int i = 0; i < 100; ++i) {
        entries.push_back(gguf_entry(std::to_string(i), gguf_text(std::string(60'000, 'x'))));
    }
    CHECK(problem_of(gguf_file(entries, {})) == "its metadata has more than 4194304 bytes");

    entries.clear();
    for (int i = 0; i < 1000; ++i) {
        const auto list = gguf_array(0, 1024, std::string(1024, '\1'));
        entries.push_back(gguf_entry(std::to_string(i), list));
    }
    CHECK(problem_of(gguf_file(entries, {})) == "its metadata has more than 4194304 bytes");
}

TEST_CASE("gguf: what the disk refuses is an error, not a problem of the file") {
    for (unsigned failing = 1; failing <= 2; ++failing) {
        virtual_disk disk;
        disk.put("/a.gguf", small_model());
        disk.fail_at_step(
            failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
        CHECK(hibernate::llama::read_gguf(disk, "/a.gguf").has_error());
    }
}

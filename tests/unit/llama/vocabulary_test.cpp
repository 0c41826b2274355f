#include "llama_hibernate/llama/vocabulary.hpp"

#include <limits>

#include "catch.hpp"
#include "gguf_bytes.hpp"
#include "llama_hibernate/llama/model_identity.hpp"
#include "temporary_directory.hpp"
#include "virtual_disk.hpp"

using hibernate::llama::join_texts;
using hibernate::llama::token;
using hibernate::llama::token_texts;
using hibernate::llama::token_texts_reading;
using namespace hibernate::test;

namespace {

constexpr int normal = 1;
constexpr int unknown = 2;
constexpr int control = 3;
constexpr int user_defined = 4;
constexpr int byte = 6;

struct listed_token {
    std::string spelled;
    int type = normal;
};

std::string token_strings(const std::vector<listed_token>& tokens) {
    std::string raw;
    for (const auto& each : tokens) {
        raw += gguf_raw_text(each.spelled);
    }
    return gguf_entry("tokenizer.ggml.tokens", gguf_array(8, tokens.size(), raw));
}

std::string token_types(const std::vector<listed_token>& tokens) {
    std::string raw;
    for (const auto& each : tokens) {
        raw += gguf_u32(static_cast<std::uint64_t>(each.type));
    }
    return gguf_entry("tokenizer.ggml.token_type", gguf_array(5, tokens.size(), raw));
}

std::string tokenizer_model(const char* name) {
    return gguf_entry("tokenizer.ggml.model", gguf_text(name));
}

/// A model as converters write it: other entries between those of the tokenizer, and tensors.
std::string model_of(const char* tokenizer, const std::vector<listed_token>& tokens) {
    return gguf_file(
        {gguf_entry("general.name", gguf_text("a")), tokenizer_model(tokenizer),
         token_strings(tokens),
         gguf_entry("tokenizer.ggml.scores", gguf_array(6, 2, std::string(8, 's'))),
         token_types(tokens),
         gguf_entry("tokenizer.ggml.merges", gguf_array(8, 1, gguf_raw_text("a b"))),
         gguf_entry("last", gguf_u16(1))},
        {gguf_tensor("t", {4})});
}

token_texts_reading read(const std::string& bytes, const std::set<token>& wanted) {
    virtual_disk disk;
    disk.put("/a.gguf", bytes);
    auto reading = hibernate::llama::read_token_texts(disk, "/a.gguf", wanted);
    REQUIRE(reading.has_value());
    CHECK(reading->texts.has_value() == reading->problem.empty());
    return std::move(*reading);
}

/// The text of all tokens, one after the other.
std::string text_of(const char* tokenizer, const std::vector<listed_token>& tokens) {
    std::vector<token> ids;
    for (token id = 0; id < static_cast<token>(tokens.size()); ++id) {
        ids.push_back(id);
    }
    const auto reading = read(model_of(tokenizer, tokens), {ids.begin(), ids.end()});
    REQUIRE(reading.texts);
    return join_texts(ids, *reading.texts);
}

} // namespace

TEST_CASE("vocabulary: SPM tokens have a mark for a space and names for bytes") {
    CHECK(
        text_of("llama", {{"\xE2\x96\x81Hello"}, {","}, {"\xE2\x96\x81world"}}) == " Hello, world");
    CHECK(text_of("llama", {{"a"}, {"<0x0A>", byte}, {"b"}}) == "a\nb");
    // A character in the bytes of two tokens.
    CHECK(text_of("llama", {{"<0xC3>", byte}, {"<0xa4>", byte}}) == "\xC3\xA4");
    CHECK(text_of("llama", {{"\xE2\x96\x81\xE2\x96\x81x\xE2\x96\x81"}}) == "  x ");
    CHECK(text_of("llama", {{"<0x0>"}, {"<0xZZ>"}, {"<0x123>"}}) == "<0x0><0xZZ><0x123>");
    CHECK(
        text_of("llama", {{"<s>", control}, {"<unk>", unknown}, {"\xE2\x96\x81", user_defined}}) ==
        "<s><unk>\xE2\x96\x81");
}

TEST_CASE("vocabulary: Gemma 4 spells its tokens as SPM does") {
    CHECK(
        text_of(
            "gemma4", {{"<bos>", control}, {"\xE2\x96\x81h\xC3\xA9"}, {"\n"}, {"<0x09>", byte}}) ==
        "<bos> h\xC3\xA9\n\t");
    // So do a few others, which call themselves "gpt2".
    const std::vector<listed_token> tokens{{"\xE2\x96\x81h\xC3\xA9"}};
    for (const bool named_first : {true, false}) {
        auto entries = std::vector{
            tokenizer_model("gpt2"), gguf_entry("tokenizer.ggml.pre", gguf_text("sarvam-moe")),
            token_strings(tokens)};
        if (!named_first) {
            std::swap(entries.front(), entries.back());
        }
        const auto reading = read(gguf_file(entries, {}), {0});
        REQUIRE(reading.texts);
        CHECK(*reading.texts == token_texts{{0, " h\xC3\xA9"}});
    }
}

TEST_CASE("vocabulary: each character of a BPE token is a byte") {
    // "Ġhello", "Ċ", "ĉ"
    CHECK(text_of("gpt2", {{"\xC4\xA0hello"}, {"\xC4\x8A"}, {"\xC4\x89"}}) == " hello\n\t");
    // "Ã¤" are the bytes of "ä", and so are "Ã" and "¤" in two tokens.
    CHECK(text_of("gpt2", {{"\xC3\x83\xC2\xA4"}}) == "\xC3\xA4");
    CHECK(text_of("gpt2", {{"\xC3\x83"}, {"\xC2\xA4"}}) == "\xC3\xA4");
    // What is written out stays so, even if its characters could be bytes.
    CHECK(
        text_of("gpt2", {{"<|im_start|>", control}, {"\xC4\xA0", user_defined}, {"\xC4\xA0"}}) ==
        "<|im_start|>\xC4\xA0 ");
    // No characters of the alphabet (U+FF5C, U+2581): it can only be written out.
    const std::string full_width = "<\xEF\xBD\x9C"
                                   "end\xE2\x96\x81of\xEF\xBD\x9C>";
    CHECK(text_of("gpt2", {{full_width}}) == full_width);
    CHECK(text_of("gpt2", {{"cut \xC4"}}) == "cut \xC4");
}

TEST_CASE("vocabulary: all 256 bytes are in the alphabet of BPE") {
    std::vector<listed_token> tokens;
    std::string expected;
    unsigned next = 0x100;
    for (unsigned value = 0; value < 256; ++value) {
        const bool itself = (value > 0x20 && value < 0x7F) || (value > 0xA0 && value != 0xAD);
        const auto code_point = itself ? value : next++;
        std::string spelled;
        if (code_point < 0x80) {
            spelled += static_cast<char>(code_point);
        } else {
            spelled += static_cast<char>(0xC0 | code_point >> 6);
            spelled += static_cast<char>(0x80 | (code_point & 0x3F));
        }
        tokens.push_back({spelled});
        expected += static_cast<char>(value);
    }
    CHECK(next == 0x144);
    CHECK(text_of("gpt2", tokens) == expected);
}

TEST_CASE("vocabulary: only what is wanted is read, and what there is not is missing") {
    std::vector<listed_token> tokens;
    for (int i = 0; i < 40'000; ++i) {
        tokens.push_back({"t" + std::to_string(i), i == 30'000 ? control : normal});
    }
    const auto bytes = model_of("llama", tokens);
    const auto reading =
        read(bytes, {-1, 0, 7, 30'000, 39'999, 40'000, std::numeric_limits<token>::max()});
    REQUIRE(reading.texts);
    CHECK(
        *reading.texts ==
        token_texts{{0, "t0"}, {7, "t7"}, {30'000, "t30000"}, {39'999, "t39999"}});
    REQUIRE(read(bytes, {}).texts);
    CHECK(read(bytes, {}).texts->empty());
    CHECK(
        join_texts(std::vector<token>{-1, -1, -1, 7, 40'000, -1, 0}, *reading.texts) ==
        "[media]t7[token 40000][media]t0");
}

TEST_CASE("vocabulary: token types may be missing, too few or anything at all") {
    const std::vector<listed_token> tokens{
        {"\xE2\x96\x81"
         "a"},
        {"\xE2\x96\x81"
         "b",
         control}};
    const auto texts_with = [&](const std::vector<std::string>& types) {
        std::vector entries{tokenizer_model("llama")};
        entries.insert(entries.end(), types.begin(), types.end()); // before the tokens, too
        entries.push_back(token_strings(tokens));
        const auto reading = read(gguf_file(entries, {}), {0, 1});
        REQUIRE(reading.texts);
        return *reading.texts;
    };
    const token_texts both_normal{{0, " a"}, {1, " b"}};
    CHECK(
        texts_with({token_types(tokens)}) == token_texts{
                                                 {0, " a"},
                                                 {1, "\xE2\x96\x81"
                                                     "b"}});
    CHECK(texts_with({}) == both_normal);
    CHECK(texts_with({token_types({tokens[0]})}) == both_normal);
    const auto* const key = "tokenizer.ggml.token_type";
    CHECK(texts_with({gguf_entry(key, gguf_u16(1))}) == both_normal);
    const auto strings = gguf_raw_text("3") + gguf_raw_text("3");
    CHECK(texts_with({gguf_entry(key, gguf_array(8, 2, strings))}) == both_normal);
}

TEST_CASE("vocabulary: a model whose tokens cannot be told says why") {
    CHECK(
        read(model_of("rwkv", {{"a"}}), {0}).problem ==
        "its tokenizer is of the unknown kind \"rwkv\"");
    // What a stranger calls it goes to somebody's terminal.
    CHECK(
        read(model_of("\x1B[2J", {{"a"}}), {0}).problem ==
        "its tokenizer is of the unknown kind \"\xE2\x90\x9B[2J\"");
    CHECK(
        read(gguf_file({token_strings({{"a"}})}, {}), {0}).problem ==
        "its tokenizer is of the unknown kind \"\"");
    // A later shard.
    CHECK(
        read(gguf_file({gguf_entry("split.no", gguf_u16(1))}, {}), {0}).problem ==
        "it has no list of tokens");
    CHECK(
        read(gguf_file({gguf_entry("tokenizer.ggml.tokens", gguf_array(0, 1, "x"))}, {}), {0})
            .problem == "its tokens are no strings");
    CHECK(
        read(gguf_file({token_strings({{"a"}}), token_strings({{"b"}})}, {}), {0}).problem ==
        "it has two lists of tokens");
    CHECK(read("no model", {0}).problem == "it does not begin as a GGUF file does");
}

TEST_CASE("vocabulary: a file that ends within its metadata has no texts") {
    const auto metadata = gguf_file(
        {tokenizer_model("llama"), token_strings({{"a"}, {"b"}, {"c"}}),
         token_types({{"a"}, {"b"}, {"c"}})},
        {});
    REQUIRE(read(metadata, {1}).texts);
    for (std::size_t length = 0; length < metadata.size(); ++length) {
        CHECK_FALSE(read(metadata.substr(0, length), {1}).texts);
    }
}

TEST_CASE("vocabulary: counts and lengths beyond the file are refused at once") {
    const auto huge = GENERATE(
        std::uint64_t{1} << 20, std::uint64_t{1} << 61, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max());
    const std::set<token> wanted{0, 1, std::numeric_limits<token>::max()};
    const auto refused = [&](const char* key, const std::string& value) {
        const auto file = gguf_file({tokenizer_model("llama"), gguf_entry(key, value)}, {});
        return read(file, wanted).problem.starts_with("its header goes beyond its end");
    };
    const auto* const tokens = "tokenizer.ggml.tokens";
    CHECK(refused(tokens, gguf_array(8, huge, gguf_raw_text("a"))));
    CHECK(refused(tokens, gguf_array(8, 2, gguf_u64(huge) + "a")));
    CHECK(refused("tokenizer.ggml.token_type", gguf_array(5, huge, gguf_u32(1))));
}

TEST_CASE("vocabulary: a token of more than 64 KiB is none, and no more than 4 MiB are kept") {
    const std::string long_text(64 * 1024, 'x');
    const auto reading =
        read(model_of("llama", {{"a"}, {long_text + "x"}, {long_text}}), {0, 1, 2});
    REQUIRE(reading.texts);
    CHECK(*reading.texts == token_texts{{0, "a"}, {2, long_text}});

    const auto many = model_of("llama", std::vector<listed_token>(65, {long_text}));
    std::set<token> wanted;
    for (token id = 0; id < 64; ++id) {
        wanted.insert(id);
    }
    CHECK(read(many, wanted).texts);
    wanted.insert(64);
    CHECK(read(many, wanted).problem == "these tokens have more than 4194304 bytes");
}

TEST_CASE("vocabulary: a link to a model leads to it") {
    const temporary_directory place;
    write_file(place.path() / "blob", model_of("llama", {{"a"}}));
    std::filesystem::create_symlink("blob", place.path() / "model.gguf");
    const auto disk = hibernate::make_real_disk();
    const auto reading =
        hibernate::llama::read_token_texts(*disk, place.path() / "model.gguf", {0});
    REQUIRE(reading.has_value());
    CHECK(reading->texts == token_texts{{0, "a"}});
    CHECK(hibernate::llama::read_token_texts(*disk, place.path() / "gone.gguf", {0}).has_error());
}

TEST_CASE("vocabulary: what the disk refuses is an error, not a problem of the file") {
    for (unsigned failing = 1; failing <= 2; ++failing) {
        virtual_disk disk;
        disk.put("/a.gguf", model_of("llama", {{"a"}}));
        disk.fail_at_step(
            failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
        CHECK(hibernate::llama::read_token_texts(disk, "/a.gguf", {0}).has_error());
    }
}

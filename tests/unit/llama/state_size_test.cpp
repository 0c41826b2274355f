#include "llama_hibernate/llama/state_size.hpp"

#include <limits>

#include "catch.hpp"

using hibernate::llama::bytes_per_token;
using hibernate::llama::gguf_header;
using hibernate::llama::gguf_list;
using hibernate::llama::gguf_value;

namespace {

/// What the file says of a token itself: its id, and a cell in each of two caches at most.
constexpr std::uint64_t itself = 4 + 2 * 20;

/// A model of the architecture "a"; the keys are without "a.".
gguf_header model_of(const std::map<std::string, gguf_value>& entries) {
    gguf_header header;
    header.metadata["general.architecture"] = "a";
    for (const auto& [key, value] : entries) {
        header.metadata["a." + key] = value;
    }
    return header;
}

gguf_value number(std::uint64_t value) {
    return value;
}

std::map<std::string, gguf_value> llama3_8b() {
    return {
        {"block_count", number(32)},
        {"embedding_length", number(4096)},
        {"attention.head_count", number(32)},
        {"attention.head_count_kv", number(8)}};
}

std::map<std::string, gguf_value>
with(std::map<std::string, gguf_value> entries, const std::string& key, gguf_value value) {
    entries[key] = std::move(value);
    return entries;
}

std::map<std::string, gguf_value>
without(std::map<std::string, gguf_value> entries, const std::string& key) {
    entries.erase(key);
    return entries;
}

std::optional<std::uint64_t> f16(const std::map<std::string, gguf_value>& entries) {
    return bytes_per_token(model_of(entries), "", "");
}

} // namespace

TEST_CASE("state size: a row of K and one of V in each layer") {
    CHECK(f16(llama3_8b()) == 128 * 1024 + itself);
    // Qwen3 0.6B: heads that are longer than their share of the width.
    CHECK(
        f16(
            {{"block_count", number(28)},
             {"embedding_length", number(1024)},
             {"attention.head_count", number(16)},
             {"attention.head_count_kv", number(8)},
             {"attention.key_length", number(128)},
             {"attention.value_length", number(128)}}) == 28 * 2 * 8 * 128 * 2 + itself);
    // K and V of different lengths.
    const auto short_v = with(llama3_8b(), "attention.value_length", number(64));
    CHECK(f16(short_v) == 32 * 8 * (128 + 64) * 2 + itself);
    CHECK(
        bytes_per_token(model_of(short_v), "f32", "q8_0") ==
        32 * (8 * 128 * 4 + 8 * 64 / 32 * 34) + itself);
}

TEST_CASE("state size: what a header leaves out is what llama.cpp takes") {
    CHECK(f16(without(llama3_8b(), "attention.head_count_kv")) == 4 * 128 * 1024 + itself);
    // Signed, as some converters write it.
    CHECK(f16(with(llama3_8b(), "block_count", std::int64_t{32})) == 128 * 1024 + itself);
    for (const auto* key : {"block_count", "embedding_length", "attention.head_count"}) {
        CAPTURE(key);
        CHECK_FALSE(f16(without(llama3_8b(), key)));
    }
    CHECK_FALSE(bytes_per_token(gguf_header{}, "", ""));
    auto nameless = model_of(llama3_8b());
    nameless.metadata.erase("general.architecture");
    CHECK_FALSE(bytes_per_token(nameless, "", ""));
}

TEST_CASE("state size: the type of the cache counts") {
    const auto bytes = [](std::string_view type) {
        return bytes_per_token(model_of(llama3_8b()), type, type);
    };
    constexpr std::uint64_t blocks = 32 * 2 * 8 * 128 / 32;
    CHECK(bytes("f32") == blocks * 128 + itself);
    CHECK(bytes("f16") == blocks * 64 + itself);
    CHECK(bytes("bf16") == blocks * 64 + itself);
    CHECK(bytes("q8_0") == blocks * 34 + itself);
    CHECK(bytes("q5_1") == blocks * 24 + itself);
    CHECK(bytes("q5_0") == blocks * 22 + itself);
    CHECK(bytes("q4_1") == blocks * 20 + itself);
    CHECK(bytes("q4_0") == blocks * 18 + itself);
    CHECK(bytes("iq4_nl") == blocks * 18 + itself);
    CHECK_FALSE(bytes("turbo3"));
    CHECK_FALSE(bytes_per_token(model_of(llama3_8b()), "f16", "F16"));
}

TEST_CASE("state size: layers may have heads of their own number") {
    auto hybrid = llama3_8b();
    hybrid["block_count"] = number(4);
    hybrid["attention.head_count_kv"] = gguf_list{0, 8, 0, 2};
    CHECK(f16(hybrid) == (8 + 2) * 128 * 2 * 2 + itself);
    hybrid["attention.head_count"] = gguf_list{32, 32, 16, 16};
    CHECK(f16(hybrid) == (8 + 2) * 128 * 2 * 2 + itself);
    CHECK(
        f16(without(hybrid, "attention.head_count_kv")) ==
        (32 + 32 + 16 + 16) * 128 * 2 * 2 + itself);
    // A list of another length is of no use, and then each head counts.
    hybrid["attention.head_count"] = number(32);
    hybrid["attention.head_count_kv"] = gguf_list{8, 8};
    CHECK(f16(hybrid) == 4 * 32 * 128 * 2 * 2 + itself);
}

TEST_CASE("state size: a model whose layers keep less than all tokens is not told") {
    CHECK_FALSE(f16(with(llama3_8b(), "attention.sliding_window", number(1024))));
    CHECK(f16(with(llama3_8b(), "attention.sliding_window", number(0))));
    CHECK_FALSE(f16(with(llama3_8b(), "full_attention_interval", number(4))));
}

TEST_CASE("state size: where layers differ in what they keep, the most counts") {
    // Gemma 4: shorter heads within the window.
    const auto windowed = with(
        with(llama3_8b(), "attention.key_length", number(512)), "attention.key_length_swa",
        number(256));
    CHECK(f16(windowed) == 32 * 8 * (512 + 128) * 2 + itself);
    const auto longer = with(llama3_8b(), "attention.value_length_swa", number(256));
    CHECK(f16(longer) == 32 * 8 * (128 + 256) * 2 + itself);
    // DeepSeek V3: one head for all, whose V is a part of its K and counts once more.
    CHECK(
        f16(
            {{"block_count", number(61)},
             {"embedding_length", number(7168)},
             {"attention.head_count", number(128)},
             {"attention.head_count_kv", number(1)},
             {"attention.key_length", number(576)},
             {"attention.value_length", number(512)},
             {"attention.key_length_mla", number(192)},
             {"attention.value_length_mla", number(128)}}) == 61 * (576 + 512) * 2 + itself);
}

TEST_CASE("state size: nothing is said of a state that does not grow, or grows otherwise") {
    // Mamba.
    CHECK_FALSE(f16(
        {{"block_count", number(24)},
         {"embedding_length", number(768)},
         {"attention.head_count", number(0)}}));
    CHECK_FALSE(f16(with(llama3_8b(), "attention.head_count_kv", number(0))));
    // DeepSeek V3.2.
    CHECK_FALSE(f16(with(llama3_8b(), "attention.indexer.key_length", number(128))));
}

TEST_CASE("state size: numbers beyond any model make no size") {
    const auto huge = GENERATE(std::uint64_t{1} << 33, std::numeric_limits<std::uint64_t>::max());
    for (const auto* key : {"block_count", "attention.key_length", "attention.head_count"}) {
        CAPTURE(key);
        const auto entries =
            without(without(llama3_8b(), "attention.head_count_kv"), "embedding_length");
        CHECK_FALSE(f16(with(entries, key, number(huge))));
    }
    CHECK_FALSE(f16(with(llama3_8b(), "embedding_length", number(huge))));
    CHECK_FALSE(f16(with(llama3_8b(), "embedding_length", number(std::uint64_t{1} << 30))));
    CHECK_FALSE(f16(with(llama3_8b(), "block_count", number(0))));
}

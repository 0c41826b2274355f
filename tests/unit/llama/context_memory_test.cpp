#include "llama_hibernate/llama/context_memory.hpp"

#include "catch.hpp"

using hibernate::llama::context_memory;
using hibernate::llama::context_memory_of;
using hibernate::llama::gguf_header;
using hibernate::llama::gguf_list;
using hibernate::llama::gguf_value;

namespace {

context_memory with(const std::map<std::string, gguf_value>& entries) {
    gguf_header header;
    header.metadata.emplace("general.architecture", std::string("a"));
    for (const auto& [key, value] : entries) {
        header.metadata[key] = value;
    }
    return context_memory_of(header);
}

gguf_value heads(const std::vector<std::uint64_t>& of_each_layer) {
    return gguf_list(of_each_layer.begin(), of_each_layer.end());
}

constexpr std::uint64_t some = 128;

} // namespace

TEST_CASE("context memory: most models remember every token in every layer") {
    CHECK(context_memory_of(gguf_header{}) == context_memory::everything);
    CHECK(with({{"a.attention.head_count_kv", some}}) == context_memory::everything);
    CHECK(with({{"a.attention.head_count_kv", heads({8, 8, 2, 2})}}) == context_memory::everything);
    CHECK(with({{"a.attention.sliding_window", std::uint64_t{0}}}) == context_memory::everything);
    CHECK(with({{"a.full_attention_interval", std::uint64_t{1}}}) == context_memory::everything);
    CHECK(with({{"another.ssm.state_size", some}}) == context_memory::everything);
}

TEST_CASE("context memory: layers with a sliding window") {
    CHECK(with({{"a.attention.sliding_window", some}}) == context_memory::sliding_window);
}

TEST_CASE("context memory: layers of one state") {
    CHECK(with({{"a.ssm.state_size", some}}) == context_memory::recurrent);
    CHECK(with({{"a.wkv.head_size", some}}) == context_memory::recurrent);
    CHECK(with({{"a.shortconv.l_cache", some}}) == context_memory::recurrent);
    CHECK(with({{"a.full_attention_interval", std::uint64_t{4}}}) == context_memory::recurrent);
    CHECK(with({{"a.attention.head_count_kv", heads({0, 8, 0, 8})}}) == context_memory::recurrent);
}

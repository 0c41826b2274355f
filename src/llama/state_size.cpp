#include "llama_hibernate/llama/state_size.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

#include "model_shape.hpp"

namespace hibernate::llama {

namespace {

// Beyond any model, and far below what could overflow.
constexpr std::uint64_t max_layers = 1024;
constexpr std::uint64_t max_length = model_shape::max_length;

constexpr std::uint64_t block_length = 32; ///< of the quantized types

/// What a block of 32 numbers takes, the scale included.
struct cache_type {
    std::string_view name;
    std::uint64_t block_bytes;
};
constexpr std::array cache_types{
    cache_type{"f32", 128}, cache_type{"f16", 64},  cache_type{"bf16", 64},
    cache_type{"q8_0", 34}, cache_type{"q4_0", 18}, cache_type{"q4_1", 20},
    cache_type{"q5_0", 22}, cache_type{"q5_1", 24}, cache_type{"iq4_nl", 18}};

/// The token in the file's list, and its cell: position, number of sequences, sequence, and two
/// coordinates of models that see images. With a sliding window there are two caches with cells.
constexpr std::uint64_t token_bytes = 4;
constexpr std::uint64_t cell_bytes = 4 + 4 + 4 + 2 * 4;
constexpr std::uint64_t max_caches = 2;

std::optional<std::uint64_t> block_bytes_of(std::string_view type) {
    const auto name = type.empty() ? std::string_view("f16") : type;
    const auto* const found =
        std::find_if(cache_types.begin(), cache_types.end(), [name](const cache_type& known) {
            return known.name == name;
        });
    return found == cache_types.end() ? std::nullopt : std::optional(found->block_bytes);
}

std::uint64_t row_bytes(std::uint64_t length, std::uint64_t block_bytes) {
    return (length + block_length - 1) / block_length * block_bytes;
}

/// Of a head's K ("key") or V ("value"), in numbers: the longer of those with and without a window.
std::optional<std::uint64_t>
head_length(const model_shape& model, std::string_view what, std::uint64_t heads) {
    const auto given = model.number(fmt::format("attention.{}_length", what), max_length);
    const auto windowed = model.number(fmt::format("attention.{}_length_swa", what), max_length);
    const auto width = model.number("embedding_length", max_length * max_length);
    const auto length = given || !width || heads == 0 ? given : std::optional(*width / heads);
    if (!length || *length > max_length) {
        return std::nullopt;
    }
    return std::max(*length, windowed.value_or(0));
}

/// Whether some layers keep less than all tokens, however many those are.
bool keeps_less(const model_shape& model) {
    constexpr std::uint64_t any = std::uint64_t{1} << 62;
    return model.number("attention.sliding_window", any).value_or(0) != 0 ||
           model.number("full_attention_interval", any).value_or(0) > 1;
}

} // namespace

std::optional<std::uint64_t> bytes_per_token(
    const gguf_header& header, std::string_view cache_type_k, std::string_view cache_type_v) {
    const auto k_block = block_bytes_of(cache_type_k);
    const auto v_block = block_bytes_of(cache_type_v);
    const model_shape model(header);
    const auto layers = model.number("block_count", max_layers);
    if (!k_block || !v_block || !layers || *layers == 0 || keeps_less(model) ||
        model.has_any("attention.indexer.")) {
        return std::nullopt;
    }
    const auto heads = model.for_layers("attention.head_count", *layers);
    const auto kv_heads_given = model.for_layers("attention.head_count_kv", *layers);
    const auto& kv_heads = kv_heads_given ? kv_heads_given : heads;
    const auto k_length = head_length(model, "key", heads ? heads->front() : 0);
    const auto v_length = head_length(model, "value", heads ? heads->front() : 0);
    if (!kv_heads || !k_length || !v_length) {
        return std::nullopt;
    }
    std::uint64_t rows = 0;
    for (const auto count : *kv_heads) {
        rows += row_bytes(count * *k_length, *k_block) + row_bytes(count * *v_length, *v_block);
    }
    if (rows == 0) {
        return std::nullopt;
    }
    return rows + token_bytes + max_caches * cell_bytes;
}

} // namespace hibernate::llama

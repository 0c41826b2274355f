#pragma once
// The entries of a model's own architecture in its header: "llama.block_count" and the like.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llama_hibernate/llama/gguf.hpp"

namespace hibernate::llama {

/// The header outlives it.
class model_shape {
public:
    /// Heads of a layer, or numbers of a head: beyond any model, and far below what could overflow.
    static constexpr std::uint64_t max_length = 65536;

    explicit model_shape(const gguf_header& header);

    /// Nothing if there is no such entry, or a larger one.
    std::optional<std::uint64_t> number(std::string_view key, std::uint64_t most) const;

    /// For each layer: one number holds for all of them.
    std::optional<gguf_list> for_layers(std::string_view key, std::uint64_t layers) const;

    bool has_any(std::string_view key_prefix) const;

    const gguf_list* list(std::string_view key) const;

private:
    const gguf_header& header_;
    std::string prefix_;
};

} // namespace hibernate::llama

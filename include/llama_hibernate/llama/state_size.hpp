#pragma once
// How much a saved slot takes for each of its tokens, told from a model's header before anything
// was saved: in each layer a row of K and a row of V,
//
//     attention.head_count_kv * attention.key_length * size of the K type, and so with V
//
// and what the file says of the token itself. Keys and their defaults are those of llama.cpp.
//
// It is an estimate to make room by, and the real size is checked after the save. Where K and V are
// one (MLA) it is too high, because both are counted. Not counted is what does not grow with the
// tokens or is not the model's: recurrent state, checkpoints, a draft model's part, images.

#include <cstdint>
#include <optional>
#include <string_view>

#include "llama_hibernate/llama/gguf.hpp"

namespace hibernate::llama {

/// In bytes. The types are those of --cache-type-k and --cache-type-v; empty is the default, f16.
/// Nothing if it cannot be told: for a type that we do not know, a header that does not tell its
/// shape (a file that is no model, or a later shard), a model without attention (its state does not
/// grow), one whose layers keep less than all tokens (a sliding window, or only each n-th layer has
/// attention: by several times too much would be counted), and one with caches of other kinds (the
/// indexers of sparse attention).
std::optional<std::uint64_t> bytes_per_token(
    const gguf_header& header, std::string_view cache_type_k, std::string_view cache_type_v);

} // namespace hibernate::llama

#pragma once
// The file of one slot, in llama-server's format as it is on disk:
//
//     u32 magic "qsgg", u32 version, u32 n_words,
//     i32 words[n_words]: -1, 1, n_tokens, tokens..., 0 (no media)
//     u32 n_stream, per stream u32 cell_count {i32 pos, u32 n_seq_id, i32 seq_id}, then the K/V
//     rows
//
// The rows are filler, of a length that the reader checks: like the real one's, a file of another
// model, cache type or stream count is refused.

#include <cstdint>
#include <string>
#include <vector>

namespace fake {

using token_list = std::vector<std::int32_t>;

struct state_format {
    std::uint32_t version = 4;
    std::uint32_t stream_count = 1;
    std::size_t bytes_per_token = 64;
    int weights = 0; ///< of the model, 0 to 127; what is decoded may have others
};

/// An empty list gives the 36 bytes that llama-server writes for an empty slot (with one stream).
std::string encode_state(const token_list& tokens, const state_format& format);

enum class state_verdict {
    good,
    refused,  ///< llama-server answers 400
    aborting, ///< short by a few bytes: llama-server's assertion ends the process
};

state_verdict
decode_state(const std::string& bytes, const state_format& format, token_list& tokens);

/// Of the model that made the state, which must be good and not empty.
int weights_in(const std::string& bytes, const state_format& format);

} // namespace fake

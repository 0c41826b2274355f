#pragma once
// The file that llama-server writes for a slot, as far as we read it. Little-endian:
//
//     u32 magic 0x67677371, u32 version, i32 n_words, i32 words[n_words], then the KV state
//     words: plain tokens (older builds), or -1, u32 1, u32 n_tokens, tokens, media...
//
// llama-server aborts on some truncated files and restores others with 200, so nothing is offered to
// it that was not checked here first. Sizes in the file are hostile until compared with its length.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::llama {

struct state_file_head {
    std::uint32_t version = 0;
    std::vector<token> tokens; ///< -1 marks a media position
};

/// The head of a state file, or why it is not one.
struct state_file_reading {
    std::optional<state_file_head> head;
    std::string problem; ///< empty when there is a head
};
state_file_reading read_state_file_head(disk& disk, const std::filesystem::path& file);

/// The same from bytes in memory: the start of a file and the length of the whole.
state_file_reading parse_state_file_head(std::string_view start, std::uint64_t file_bytes);

} // namespace hibernate::llama

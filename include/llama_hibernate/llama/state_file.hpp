#pragma once
// The file that llama-server writes for a slot, as far as we read it. Little-endian:
//
//     u32 magic 0x67677371, u32 version, u32 n_words, i32 words[n_words], then the KV state, then
//     trailers (state_trailers.hpp)
//     words: plain tokens (older builds), or -1, u32 1, u32 n_tokens, tokens, u32 n_media, media...
//
// llama-server aborts on some truncated files and restores others with 200, so nothing is offered
// to it that was not checked here first. Sizes in the file are hostile until compared with its
// length. Only the head is read, 12 + 4 * n_words bytes; the KV state may be gigabytes.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::llama {

struct state_file_head {
    std::uint32_t version = 0;
    std::vector<token> tokens; ///< -1 marks a media position
    /// What stands at the media positions, as the file has it (state_media.hpp); empty without
    /// media.
    std::vector<std::int32_t> media;
    std::uint64_t bytes = 0; ///< its own length: where the KV state begins
};

/// The head of a state file, or why it is not one.
struct state_file_reading {
    std::optional<state_file_head> head;
    std::string problem; ///< empty when there is a head
};
state_file_reading read_state_file_head(disk& disk, const std::filesystem::path& file);

/// The same from bytes in memory: the start of a file and the length of the whole.
state_file_reading parse_state_file_head(std::string_view start, std::uint64_t file_bytes);

/// The bytes of a head like that one, of its first so many tokens alone, none of which is a media
/// position. Before the same KV state it makes a file that llama-server takes for a slot which
/// holds no more than these: what else is in the KV state is dropped with the next prompt.
std::string shortened(const state_file_head& head, std::size_t tokens);

/// What the first 24 bytes of a state file tell: enough to find that it is another one than was
/// saved, when many are listed and their tokens would be hundreds of megabytes.
struct state_file_start {
    std::uint32_t version = 0;
    std::uint64_t tokens = 0; ///< how many the head claims, within its length
};

/// The start of a state file, or why it is none. Every head that can be read has one that agrees
/// with it; a head with a start may still have a token list that is none.
struct state_file_start_reading {
    std::optional<state_file_start> start;
    std::string problem; ///< empty when there is a start
};
state_file_start_reading read_state_file_start(disk& disk, const std::filesystem::path& file);

/// Whether the tokens of earlier are a prefix of those of later, or equal to them, and the media at
/// those tokens are the same (state_media.hpp).
bool continues(const state_file_head& later, const state_file_head& earlier);

} // namespace hibernate::llama

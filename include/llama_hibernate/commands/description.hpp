#pragma once
// What `store show` prints of one snapshot: its manifest in words, what its state file holds, and
// the first and last words of its text. The words come from the model file, if that is still the
// one that the conversation was had with; llama-server is not needed. Otherwise token ids have to
// do.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/context_memory.hpp"
#include "llama_hibernate/llama/state_trailers.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::commands {

/// What is in the state file, or why that is not known.
struct snapshot_content {
    std::string problem; ///< a clause; empty if the head could be read
    std::uint32_t state_version = 0;
    std::string first_words;        ///< harmless for a terminal; token ids, if no_words says why
    std::string last_words;         ///< empty: the first ones are all
    std::string no_words;           ///< a clause; empty: they are words
    std::uint64_t media_tokens = 0; ///< the positions of images and recordings
    std::optional<llama::state_trailers> trailers; ///< nothing if the file was not understood
    std::optional<llama::context_memory> memory;   ///< of its model; nothing if that is not known
};

/// Reads the state file's head and trailers, and the model file's header.
snapshot_content
read_content(disk& disk, const std::filesystem::path& root, const store::stored_item& item);

/// Lines for people; pure.
std::string describe_snapshot(
    const std::filesystem::path& root,
    const store::stored_item& item,
    const std::string& state, ///< as describe_state() has it
    const snapshot_content& content,
    store::wall_time now);

} // namespace hibernate::commands

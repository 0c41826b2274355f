#pragma once
// What may follow the KV state in a slot's file, little-endian:
//
//     "SCKP" u32 1, u32 count, count x {i64 n_tokens, i32 pos_min, i32 pos_max,
//                                       u64 bytes and data: target, draft, other speculation}
//     "SDFT" u32 1, u64 bytes and data: draft model's state, other speculation's
//
// The checkpoints decide how much of a restored slot a hybrid, recurrent or sliding-window model
// can reuse. The KV state before them has no length, so they are searched for from the end of the
// file. A match counts only if all lengths in it add up to exactly the end of the file, or to the
// trailer that follows; a KV state does not look like that by chance.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/state_file.hpp"

namespace hibernate::llama {

struct state_checkpoint {
    std::int64_t tokens = 0; ///< of the prompt, up to here
    std::int32_t first_position = 0;
    std::int32_t last_position = 0;
    std::uint64_t bytes = 0; ///< of its data, all three parts
};

struct state_trailers {
    std::vector<state_checkpoint> checkpoints; ///< in the file's order; empty: none are there
    bool draft = false;                        ///< the state of a draft model, or other speculation
    std::uint64_t draft_bytes = 0;
    std::uint64_t state_end = 0; ///< where the KV state ends: the file's size without trailers
};

struct trailer_search {
    /// How much of the file's end is looked through: it is read, at some GB a second.
    std::uint64_t max_bytes = std::uint64_t{4} * 1024 * 1024 * 1024;
    /// How many length fields are followed: no file of llama-server's needs more than some hundred.
    std::size_t max_steps = 100'000;
};

/// The trailers, or why it is not known what they are: a clause.
struct trailer_reading {
    std::optional<state_trailers> trailers;
    std::string problem;
};

/// head is that of the same file. Never more than a MiB of the file is in memory.
trailer_reading read_state_trailers(
    disk& disk,
    const std::filesystem::path& file,
    const state_file_head& head,
    const trailer_search& limits = {});

} // namespace hibernate::llama

#pragma once
// Whether a slot is saved a second time, cut to its prompt: pure.
//
// A model that does not remember every token in every layer reuses a restored slot without context
// checkpoints only if the next prompt extends all that was saved, the reply included. A client that
// changes the reply (drops its reasoning, edits it, asks again) would lose everything. What was
// saved right at the end of the prompt, any next turn extends.

#include <cstdint>
#include <optional>

#include "llama_hibernate/llama/context_memory.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::keeper {

enum class boundary_choice { automatic, always, never };

/// What is known of this model, build and client.
struct boundary_facts {
    boundary_choice choice = boundary_choice::automatic;
    llama::context_memory memory = llama::context_memory::everything;
    /// Whether the state files of this build hold context checkpoints; nothing: none was seen yet.
    std::optional<bool> checkpoints;
    /// A cut made the child compute much: it has no checkpoint in memory.
    bool too_dear = false;
    /// How this conversation went on last.
    store::continuation went_on = store::continuation::unknown;
    /// Whole snapshots that were restored and computed again, in a row.
    std::uint64_t missed = 0;
};

bool wants_boundary(const boundary_facts& facts);

/// To how many tokens a slot is cut that holds so many, of a prompt of so many, when earlier
/// prompts were continued without their last gap tokens; nothing if that is not worth it.
/// llama-server would not look for the prompt in a slot of which it is less than a half.
std::optional<std::uint64_t> boundary_of(
    std::uint64_t slot_tokens,
    std::uint64_t prompt_tokens,
    std::uint64_t gap,
    std::uint64_t min_tokens);

/// What a cut may compute: the tokens behind the last checkpoint, which is near the prompt's end.
inline constexpr std::uint64_t most_computed_for_boundary = 512;

} // namespace hibernate::keeper

#pragma once
// Which slots are saved at the stop, and in which order: pure, over what GET /slots said.
//
// A slot without a token count never ran a task since the child started: it is empty, or holds just
// what was restored into it, which is on disk already. A slot with a count of 0 was emptied. Of the
// rest those come first that lose the most for the time that their save takes: all of a slot is
// written, but what is on disk of it already need not be computed again.

#include <cstdint>
#include <optional>
#include <vector>

#include "llama_hibernate/keeper/slot_table.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::keeper {

struct slot_to_save {
    int id = 0;
    std::optional<std::uint64_t> tokens; ///< in it now; nothing: not known
};

/// In the order in which they are to be saved; without those that known shows as saved, and those
/// of fewer tokens than min_tokens.
std::vector<slot_to_save>
plan_save(const std::vector<llama::slot>& slots, const slot_table& known, std::uint64_t min_tokens);

/// The same when the child does not tell what its slots hold (--no-slots): all of them. An empty
/// one answers with no tokens and replaces nothing.
std::vector<slot_to_save> plan_save_blindly(int total_slots);

/// Of how many slots the content is lost because it is of fewer tokens than min_tokens.
std::size_t count_too_short(
    const std::vector<llama::slot>& slots, const slot_table& known, std::uint64_t min_tokens);

} // namespace hibernate::keeper

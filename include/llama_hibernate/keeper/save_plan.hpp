#pragma once
// Which slots are saved at the stop, and in which order: pure, over what GET /slots said.
//
// A slot without a token count never ran a task since the child started: it is empty, or holds just
// what was restored into it, which is on disk already. A slot with a count of 0 was emptied. The
// rest is saved, the most tokens first: they would cost the most to compute again.

#include <vector>

#include "llama_hibernate/llama/types.hpp"

namespace hibernate::keeper {

/// Ids of the slots to save, in order.
std::vector<int> plan_save(const std::vector<llama::slot>& slots);

/// The same when the child does not tell what its slots hold (--no-slots): all of them. An empty
/// one answers with no tokens and replaces nothing.
std::vector<int> plan_save_blindly(int total_slots);

} // namespace hibernate::keeper

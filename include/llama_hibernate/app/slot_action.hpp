#pragma once
// POST /slots/{id}?action=save|restore|erase from outside, where the user asked for it with
// --slot-save-path: what passes on to the child. Pure.
//
// llama-server takes any id, modulo the number of its slots, and any plain file name, so that a
// client could write over our snapshots, or load them elsewhere. What is asked for must therefore
// be plain to see: whatever llama-server might read in another way is refused.

#include <cstddef>
#include <optional>
#include <string_view>

#include "llama_hibernate/proxy/hooks.hpp"

namespace hibernate::app {

struct slot_action {
    int slot = 0;
    bool displaces = false; ///< what the slot holds is gone afterwards: a restore, an erase
};

/// What is asked for, or why it is refused (400: an id that is no slot's, or no action).
struct slot_action_reading {
    std::optional<slot_action> action; ///< nothing: refused
    proxy::refusal refusal;
};

/// id is what follows "/slots/" in the path as llama-server reads it, query is raw. slot_count is
/// nothing while it is not known.
slot_action_reading
read_slot_action(std::string_view id, std::string_view query, std::optional<int> slot_count);

/// Of an action with a body whose start is there: a file name that is ours (403), or a body that
/// does not show its file name (400): longer than its start, no JSON object, the name twice, or of
/// a type that llama-server reads in another way.
std::optional<proxy::refusal> refuse_slot_file(
    std::string_view body_start,
    std::optional<std::string_view> content_type,
    std::optional<std::string_view> content_encoding);

} // namespace hibernate::app

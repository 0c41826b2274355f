#pragma once
// What the child's slots hold, as far as GET /slots tells, and what of it is not on disk: pure.
//
// A slot has changed when another task ran in it than the one that was seen at its last save. One
// that ran no task yet holds what was restored into it, or nothing.

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "llama_hibernate/llama/types.hpp"

namespace hibernate::keeper {

struct slot_state {
    int id = 0;
    std::uint64_t tokens = 0;       ///< in it now
    std::uint64_t saved_tokens = 0; ///< in it when it was saved last; 0: it never was
    std::int64_t task = -1;         ///< the last that ran in it
    bool changed = false;           ///< since it was saved, or restored
    bool failed = false;            ///< the save of what is in it now did not work
    bool processing = false;
    std::chrono::steady_clock::time_point changed_at; ///< when that was seen first
};

class slot_table {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// From GET /slots. What a slot held that is empty now is of no use to a save any more.
    void observe(const std::vector<llama::slot>& slots, time_point now);

    /// From GET /slots, when all that the slots hold is on disk: after a restore.
    void begin_with(const std::vector<llama::slot>& slots, time_point now);

    /// The slot was saved, with so many tokens, when that task was the last one in it.
    void saved(int id, std::uint64_t tokens, std::int64_t task);
    /// That save failed.
    void failed(int id, std::int64_t task);

    /// Idle slots that changed and hold at least so many tokens; those that gained the most come
    /// first. Those whose save failed already only if they are asked for.
    enum class failures { without, with };
    std::vector<slot_state>
    unsaved(std::uint64_t min_tokens, failures which = failures::without) const;

    std::vector<slot_state> all() const; ///< by their ids

    /// Whether the slot was saved after the task that is the last one in it.
    bool is_saved(const llama::slot& slot) const;

    /// The tokens in it beyond those that were in it when it was saved last.
    std::uint64_t gained(const llama::slot& slot) const;

    /// Whether the child has forgotten what ran in its slots: it slept, and woke since.
    bool was_forgotten(const std::vector<llama::slot>& slots) const;

    bool any_processing() const;
    bool any_idle() const;

    /// The slot that got a task last; -1: none did.
    int latest_slot() const;

private:
    std::map<int, slot_state> slots_;
};

} // namespace hibernate::keeper

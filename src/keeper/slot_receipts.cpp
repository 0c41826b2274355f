#include "llama_hibernate/keeper/slot_receipts.hpp"

#include <algorithm>

namespace hibernate::keeper {

void slot_receipts::begin_with(const std::vector<llama::slot>& slots) {
    slots_.clear();
    computed_ = 0;
    for (const auto& seen : slots) {
        slots_[seen.id].task = seen.task;
    }
}

void slot_receipts::observe(const std::vector<llama::slot>& slots, const ended_requests& ended) {
    std::vector<const llama::slot*> finished;
    for (const auto& seen : slots) {
        if (!seen.is_processing && seen.task != slots_[seen.id].task) {
            finished.push_back(&seen);
        }
    }
    const bool certain = finished.size() == 1 && ended.size() == 1 && ended.front();
    for (const auto* slot : finished) {
        auto& of_slot = slots_[slot->id];
        of_slot.task = slot->task;
        if (certain) {
            of_slot.since_save.turns.push_back({*ended.front(), computed_});
        } else {
            of_slot.since_save.complete = false;
            computed_ += slot->tokens.value_or(0);
        }
    }
    if (certain) {
        computed_ += ended.front()->computed;
    }
}

slot_turns slot_receipts::turns_of(int slot) const {
    const auto found = slots_.find(slot);
    return found == slots_.end() ? slot_turns{{}, false} : found->second.since_save;
}

void slot_receipts::saved(int slot) {
    slots_[slot].since_save = {};
}

reuse judge_restored(const slot_turns& turns, std::uint64_t tokens, std::uint64_t kept_tokens) {
    const auto& all = turns.turns;
    const auto first = std::find_if(all.begin(), all.end(), [tokens](const auto& turn) {
        return turn.receipt.reused + turn.receipt.computed >= tokens;
    });
    if (!turns.complete || first == all.end()) {
        return reuse::unknown;
    }
    if (first->receipt.reused >= tokens - tokens / 2) {
        return reuse::reused;
    }
    return first->computed_before <= kept_tokens ? reuse::missed : reuse::unknown;
}

} // namespace hibernate::keeper

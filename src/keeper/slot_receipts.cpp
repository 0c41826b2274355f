#include "llama_hibernate/keeper/slot_receipts.hpp"

#include <algorithm>
#include <string_view>

namespace hibernate::keeper {

namespace {

std::uint64_t prompt_of(const slot_turns::turn& turn) {
    return turn.receipt.reused + turn.receipt.computed;
}

/// Whether a turn found what the one before it had left, but for what a template changes.
bool goes_on(const slot_turns::turn& before, const slot_turns::turn& after) {
    constexpr std::uint64_t least_percent = 90;
    return after.receipt.reused * 100 >= prompt_of(before) * least_percent;
}

} // namespace

void slot_receipts::begin_with(const std::vector<llama::slot>& slots) {
    slots_.clear();
    anything_ran_ = false;
    for (const auto& seen : slots) {
        slots_[seen.id].task = seen.task;
    }
}

void slot_receipts::observe(
    const std::vector<llama::slot>& slots,
    const std::vector<ended_request>& ended,
    std::size_t in_flight) {
    std::vector<const llama::slot*> taken;
    for (const auto& seen : slots) {
        if (seen.task != slots_[seen.id].task) {
            taken.push_back(&seen);
        }
    }
    const auto finished = std::count_if(
        taken.begin(), taken.end(), [](const llama::slot* slot) { return !slot->is_processing; });
    const bool certain = finished == 1 && ended.size() == 1 && ended.front().receipt;
    // One whose client left may still run.
    const bool alone = taken.size() == 1 && ended.size() == 1 && in_flight == 0;
    for (const auto* slot : taken) {
        auto& of_slot = slots_[slot->id];
        if (alone || (certain && !slot->is_processing)) {
            of_slot.started_task = slot->task;
            of_slot.body_start = ended.front().body_start;
        }
        if (slot->is_processing) {
            continue;
        }
        of_slot.task = slot->task;
        if (certain) {
            const bool proves = !anything_ran_ && !chooses_cache(ended.front().body_start);
            of_slot.since_save.turns.push_back({*ended.front().receipt, proves});
        } else {
            of_slot.since_save.complete = false;
        }
    }
    anything_ran_ = anything_ran_ || !taken.empty();
}

slot_turns slot_receipts::turns_of(int slot) const {
    const auto found = slots_.find(slot);
    return found == slots_.end() ? slot_turns{{}, false} : found->second.since_save;
}

const std::string& slot_receipts::body_start_of(int slot, std::int64_t task) const {
    static const std::string unknown;
    const auto found = slots_.find(slot);
    return found == slots_.end() || found->second.started_task != task ? unknown
                                                                       : found->second.body_start;
}

void slot_receipts::saved(int slot) {
    slots_[slot].since_save = {};
}

namespace {

/// The first of the turns that led to what is in the slot now whose prompt goes beyond so many
/// tokens; null if there is none, or it is not certain.
const slot_turns::turn* first_beyond(const slot_turns& turns, std::uint64_t tokens) {
    const auto& all = turns.turns;
    if (!turns.complete || all.empty()) {
        return nullptr;
    }
    auto begin = all.end() - 1;
    while (begin != all.begin() && goes_on(*(begin - 1), *begin)) {
        --begin;
    }
    const auto first = std::find_if(
        begin, all.end(), [tokens](const auto& turn) { return prompt_of(turn) > tokens; });
    return first == all.end() ? nullptr : &*first;
}

} // namespace

reuse judge_restored(const slot_turns& turns, std::uint64_t tokens) {
    const auto* first = first_beyond(turns, tokens);
    if (first == nullptr) {
        return reuse::unknown;
    }
    if (first->receipt.reused >= tokens - tokens / 2) {
        return reuse::reused;
    }
    constexpr std::uint64_t nothing = 64; // what all conversations begin with
    return first->proves_misses && first->receipt.reused <= nothing ? reuse::missed
                                                                    : reuse::unknown;
}

std::uint64_t reused_of_restored(const slot_turns& turns, std::uint64_t tokens) {
    const auto* first = first_beyond(turns, tokens);
    return first == nullptr ? 0 : first->receipt.reused;
}

bool chooses_cache(std::string_view body_start) {
    const auto has = [body_start](std::string_view name) {
        return body_start.find(name) != std::string_view::npos;
    };
    return has("\"id_slot\"") || has("\"cache_prompt\"");
}

} // namespace hibernate::keeper

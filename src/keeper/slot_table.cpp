#include "llama_hibernate/keeper/slot_table.hpp"

#include <algorithm>
#include <tuple>

namespace hibernate::keeper {

namespace {

std::uint64_t beyond(std::uint64_t saved, std::uint64_t tokens) {
    return tokens - std::min(tokens, saved);
}

std::uint64_t gain_of(const slot_state& slot) {
    return beyond(slot.saved_tokens, slot.tokens);
}

} // namespace

void slot_table::observe(const std::vector<llama::slot>& slots, time_point now) {
    for (const auto& seen : slots) {
        auto& slot = slots_[seen.id];
        slot.id = seen.id;
        slot.processing = seen.is_processing;
        slot.tokens = seen.tokens.value_or(0);
        if (seen.task != slot.task) {
            slot.task = seen.task;
            slot.changed_at = slot.changed ? slot.changed_at : now;
            slot.changed = true;
            slot.failed = false;
        }
        if (slot.tokens == 0 && !slot.processing) {
            slot.changed = false;
            slot.saved_tokens = 0;
        }
    }
}

void slot_table::begin_with(const std::vector<llama::slot>& slots, time_point now) {
    slots_.clear();
    observe(slots, now);
    for (auto& [id, slot] : slots_) {
        slot.changed = false;
        slot.saved_tokens = slot.tokens;
    }
}

void slot_table::failed(int id, std::int64_t task) {
    auto& slot = slots_[id];
    slot.failed = slot.task == task;
}

void slot_table::saved(int id, std::uint64_t tokens, std::int64_t task) {
    auto& slot = slots_[id];
    slot.id = id;
    slot.saved_tokens = tokens;
    slot.changed = slot.task != task;
}

std::vector<slot_state> slot_table::unsaved(std::uint64_t min_tokens, failures which) const {
    std::vector<slot_state> found;
    for (const auto& [id, slot] : slots_) {
        const bool wanted = !slot.failed || which == failures::with;
        if (slot.changed && wanted && !slot.processing && slot.tokens >= min_tokens) {
            found.push_back(slot);
        }
    }
    std::sort(found.begin(), found.end(), [](const slot_state& a, const slot_state& b) {
        return std::tuple(gain_of(b), a.id) < std::tuple(gain_of(a), b.id);
    });
    return found;
}

std::vector<slot_state> slot_table::all() const {
    std::vector<slot_state> slots;
    for (const auto& [id, slot] : slots_) {
        slots.push_back(slot);
    }
    return slots;
}

bool slot_table::is_saved(const llama::slot& slot) const {
    const auto known = slots_.find(slot.id);
    return known != slots_.end() && !known->second.changed && known->second.task == slot.task &&
           known->second.saved_tokens != 0;
}

std::uint64_t slot_table::gained(const llama::slot& slot) const {
    const auto known = slots_.find(slot.id);
    return beyond(known == slots_.end() ? 0 : known->second.saved_tokens, slot.tokens.value_or(0));
}

bool slot_table::was_forgotten(const std::vector<llama::slot>& slots) const {
    return std::any_of(slots.begin(), slots.end(), [this](const llama::slot& seen) {
        const auto known = slots_.find(seen.id);
        return seen.task < 0 && known != slots_.end() && known->second.task >= 0;
    });
}

bool slot_table::any_processing() const {
    return std::any_of(
        slots_.begin(), slots_.end(), [](const auto& one) { return one.second.processing; });
}

bool slot_table::any_idle() const {
    return std::any_of(
        slots_.begin(), slots_.end(), [](const auto& one) { return !one.second.processing; });
}

int slot_table::latest_slot() const {
    const auto latest =
        std::max_element(slots_.begin(), slots_.end(), [](const auto& a, const auto& b) {
            return a.second.task < b.second.task;
        });
    return latest == slots_.end() || latest->second.task < 0 ? -1 : latest->first;
}

} // namespace hibernate::keeper

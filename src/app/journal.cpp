#include "llama_hibernate/app/journal.hpp"

#include <algorithm>
#include <utility>

namespace hibernate::app {

using admin::slot_condition;
using std::chrono::duration;

namespace {

/// Fewer are computed in less than a batch, and tell nothing of what many would cost.
constexpr std::uint64_t least_measured_tokens = 32;

double seconds(std::chrono::microseconds time) {
    return duration<double>(time).count();
}

} // namespace

void journal::note_restore(
    const restore_report& report, std::size_t planned, std::size_t skipped, std::string why) {
    restore_ = {planned, report.restored.size(), report.tokens, report.time,
                skipped, std::move(why)};
    tallies_.restores["restored"] += report.restored.size();
    tallies_.restores["not_restored"] += report.left_out;
    tallies_.restores["skipped"] += skipped;
    tallies_.restored_tokens += report.tokens;
    slots_.clear();
    awaited_.clear();
    restored_moved_ = false;
    for (const auto& one : report.restored) {
        tallies_.restore_seconds.note(seconds(one.time));
        awaited_[one.id] = {one.tokens, one.useful_tokens};
        if (std::find(report.in_slots.begin(), report.in_slots.end(), one.id) !=
            report.in_slots.end()) {
            slots_[one.slot] = {one.id, one.tokens, true};
        }
    }
}

void journal::note_request(
    const std::optional<llama::receipt>& receipt, bool slots_empty_each_other) {
    restored_moved_ = restored_moved_ || slots_empty_each_other;
    if (!receipt) {
        return;
    }
    tallies_.prompt_tokens_reused += receipt->reused;
    tallies_.prompt_tokens_computed += receipt->computed;
    if (receipt->computed >= least_measured_tokens && receipt->compute_time.count() > 0) {
        measured_tokens_ += receipt->computed;
        measured_seconds_ += seconds(receipt->compute_time);
        price();
    }
}

void journal::note_save(
    const std::string& reason, const save_report& report, const turns_of_slot& turns_of) {
    tallies_.saves[{reason, "saved"}] += report.saved.size();
    tallies_.saves[{reason, "failed"}] += report.not_saved;
    for (const auto& one : report.saved) {
        tallies_.saved_bytes += one.bytes;
        tallies_.save_seconds.note(seconds(one.time));
        slots_[one.slot] = {one.id, one.tokens, false};
    }
    for (const auto& [id, slot] : report.reused) {
        const auto found = awaited_.extract(id);
        if (!found) {
            continue;
        }
        const auto& restored = found.mapped();
        const auto found_by_prompt =
            keeper::reused_of_restored(turns_of(slot), restored.useful_tokens);
        const auto reused = std::min(restored.tokens, found_by_prompt);
        tallies_.restored_tokens_reused += reused;
        unpriced_tokens_ += reused;
    }
    price();
}

/// At the price of now: what was saved is not counted anew when the price changes.
void journal::price() {
    if (measured_tokens_ != 0) {
        tallies_.prefill_seconds_saved += static_cast<double>(std::exchange(unpriced_tokens_, 0)) *
                                          measured_seconds_ / static_cast<double>(measured_tokens_);
    }
}

admin::reuse_view journal::reuse() const {
    return {
        tallies_.restored_tokens, tallies_.restored_tokens_reused, tallies_.prompt_tokens_reused,
        tallies_.prompt_tokens_computed, tallies_.prefill_seconds_saved};
}

std::vector<admin::slot_view> journal::describe_slots(
    const std::vector<keeper::slot_state>& slots, std::uint64_t min_tokens) const {
    std::vector<admin::slot_view> views;
    for (const auto& slot : slots) {
        admin::slot_view view;
        view.id = slot.id;
        view.tokens = slot.tokens;
        const auto found = slots_.find(slot.id);
        const bool from_disk = found != slots_.end() && found->second.restored;
        if (slot.processing) {
            view.condition = slot_condition::busy;
        } else if (slot.changed) {
            view.condition =
                slot.tokens < min_tokens ? slot_condition::too_short : slot_condition::unsaved;
        } else if (from_disk && !restored_moved_) {
            // llama-server tells no count of a slot in which nothing ran yet.
            view.condition = slot_condition::restored;
            view.tokens = found->second.tokens;
        } else if (slot.tokens != 0) {
            view.condition = slot_condition::saved;
        }
        if (found != slots_.end() && view.condition != slot_condition::empty) {
            view.snapshot = found->second.snapshot;
        }
        views.push_back(std::move(view));
    }
    return views;
}

} // namespace hibernate::app

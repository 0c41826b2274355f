#include "llama_hibernate/keeper/restore_plan.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "llama_hibernate/base/size.hpp"

namespace hibernate::keeper {

namespace {

constexpr std::size_t kept_at_least = 8;

void sort_by_age(std::vector<store::snapshot>& snapshots) {
    std::sort(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
        return std::tie(b.manifest.created, a.manifest.id) <
               std::tie(a.manifest.created, b.manifest.id);
    });
}

/// Gives each snapshot the slot it was saved from, while that is free, and the others what remains.
void assign_slots(std::vector<restore_step>& steps, int slot_count) {
    std::vector<bool> taken(static_cast<std::size_t>(slot_count), false);
    std::vector<restore_step*> homeless;
    for (auto& step : steps) {
        const int home = step.snapshot.manifest.slot;
        if (home >= 0 && home < slot_count && !taken[static_cast<std::size_t>(home)]) {
            taken[static_cast<std::size_t>(home)] = true;
            step.slot = home;
        } else {
            homeless.push_back(&step);
        }
    }
    auto free = taken.begin();
    for (auto* step : homeless) {
        free = std::find(free, taken.end(), false);
        *free = true;
        step->slot = static_cast<int>(free - taken.begin());
    }
}

} // namespace

restore_plan plan_restore(
    std::vector<store::snapshot> snapshots,
    const store::signature& now,
    const slots_to_fill& slots) {
    restore_plan plan;
    const auto skip = [&](const store::snapshot& which, std::string reason) {
        plan.skipped.push_back({which.manifest.id, which.manifest.bytes, std::move(reason)});
    };

    sort_by_age(snapshots);
    for (auto& snapshot : snapshots) {
        const auto& manifest = snapshot.manifest;
        if (manifest.signature != now) {
            skip(snapshot, store::explain_difference(manifest.signature, now));
        } else if (slots.context_size != 0 && manifest.tokens > slots.context_size) {
            skip(
                snapshot,
                fmt::format("longer than a slot's context of {} tokens", slots.context_size));
        } else if (plan.steps.size() >= static_cast<std::size_t>(std::max(slots.count, 0))) {
            skip(snapshot, "no slot left for it");
        } else {
            plan.steps.push_back({std::move(snapshot), 0});
        }
    }

    assign_slots(plan.steps, std::max(slots.count, 0));
    std::sort(plan.steps.begin(), plan.steps.end(), [](const auto& a, const auto& b) {
        return std::tie(b.snapshot.manifest.tokens, a.slot) <
               std::tie(a.snapshot.manifest.tokens, b.slot);
    });
    return plan;
}

std::string describe_skipped(const restore_plan& plan) {
    if (plan.skipped.empty()) {
        return {};
    }
    std::uint64_t bytes = 0;
    std::vector<std::string> reasons;
    for (const auto& skipped : plan.skipped) {
        bytes += skipped.bytes;
        if (std::find(reasons.begin(), reasons.end(), skipped.reason) == reasons.end()) {
            reasons.push_back(skipped.reason);
        }
    }
    auto line = fmt::format(
        "skipped {} {} ({}): ", plan.skipped.size(),
        plan.skipped.size() == 1 ? "snapshot" : "snapshots", format_bytes(bytes));
    for (const auto& reason : reasons) {
        line += (&reason == &reasons.front() ? "" : "; ") + reason;
    }
    return line;
}

std::vector<std::string> surplus_snapshots(
    std::vector<store::snapshot> snapshots, const store::signature& now, int slot_count) {
    std::erase_if(snapshots, [&](const auto& one) { return one.manifest.signature != now; });
    sort_by_age(snapshots);
    const auto kept = std::max(kept_at_least, static_cast<std::size_t>(std::max(slot_count, 0)));
    std::vector<std::string> ids;
    for (auto i = kept; i < snapshots.size(); ++i) {
        ids.push_back(snapshots[i].manifest.id);
    }
    return ids;
}

} // namespace hibernate::keeper

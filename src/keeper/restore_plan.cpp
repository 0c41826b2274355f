#include "llama_hibernate/keeper/restore_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "llama_hibernate/base/size.hpp"

namespace hibernate::keeper {

namespace {

using reason = restore_plan::skipped_snapshot::reason;

constexpr std::size_t told_reasons = 8;         ///< in one line
constexpr std::size_t briefly_told_reasons = 3; ///< in one that says more than that

void sort_by_age(std::vector<store::snapshot>& snapshots) {
    std::sort(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
        return std::tie(b.manifest.created, a.manifest.id) <
               std::tie(a.manifest.created, b.manifest.id);
    });
}

/// Of a conversation that was saved with its last reply and without it, the one that was of use the
/// last time: a client that repeats the reply as it was reuses the whole, any other only the
/// prompt.
void leave_one_of_each_pair(std::vector<store::snapshot>& snapshots) {
    std::map<std::string, const store::manifest*> whole;
    for (const auto& one : snapshots) {
        if (one.manifest.boundary_of.empty()) {
            whole[one.manifest.id] = &one.manifest;
        }
    }
    std::set<std::string> dropped;
    for (const auto& one : snapshots) {
        const auto& prompt = one.manifest;
        const auto twin = whole.find(prompt.boundary_of);
        if (twin == whole.end()) {
            continue;
        }
        const auto& full = *twin->second;
        const bool prefer_full =
            store::is_retired(prompt) ||
            (full.went_on == store::continuation::verbatim && !store::is_retired(full));
        dropped.insert(prefer_full ? prompt.id : full.id);
    }
    std::erase_if(snapshots, [&](const auto& one) { return dropped.contains(one.manifest.id); });
}

std::vector<reason> reasons_of(const std::vector<store::difference>& differences) {
    std::vector<reason> reasons;
    for (const auto& one : differences) {
        reasons.push_back({one.text, one.part + " differs"});
    }
    return reasons;
}

/// Each text once, the most frequent first, with how many have it unless all do.
std::string list_reasons(
    const restore_plan& plan, std::string reason::*text, std::size_t most, std::string_view more) {
    std::map<std::string, std::size_t> counts;
    for (const auto& skipped : plan.skipped) {
        std::set<std::string> texts; ///< two parts may have one text
        for (const auto& one : skipped.reasons) {
            texts.insert(one.*text);
        }
        for (const auto& one : texts) {
            ++counts[one];
        }
    }
    std::vector<std::pair<std::string, std::size_t>> reasons(counts.begin(), counts.end());
    std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
        return std::pair(b.second, a.first) < std::pair(a.second, b.first);
    });
    std::string line;
    for (std::size_t i = 0; i < reasons.size() && i < most; ++i) {
        const auto& [one, count] = reasons[i];
        line += i == 0 ? "" : "; ";
        line += count == plan.skipped.size() ? one : fmt::format("{} ({})", one, count);
    }
    if (reasons.size() > most) {
        line += fmt::format("; and {} {}", reasons.size() - most, more);
    }
    return line;
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
    plan.shared_pool = slots.shared_pool;
    std::uint64_t planned_tokens = 0;
    const auto skip = [&](const store::snapshot& which, std::vector<reason> reasons) {
        plan.skipped.push_back({which.manifest.id, which.manifest.bytes, std::move(reasons)});
    };

    leave_one_of_each_pair(snapshots);
    sort_by_age(snapshots);
    for (auto& snapshot : snapshots) {
        const auto& manifest = snapshot.manifest;
        const auto differences = store::list_differences(store::signature_of(manifest), now);
        if (!differences.empty()) {
            skip(snapshot, reasons_of(differences));
        } else if (store::is_retired(manifest)) {
            skip(snapshot, {{"twice in a row restored in vain", "restored in vain"}});
        } else if (slots.context_size != 0 && manifest.tokens > slots.context_size) {
            skip(
                snapshot,
                {{fmt::format("longer than a slot's context of {} tokens", slots.context_size),
                  "longer than a slot's context"}});
        } else if (plan.steps.size() >= static_cast<std::size_t>(std::max(slots.count, 0))) {
            plan.spares.push_back(std::move(snapshot));
        } else if (
            slots.shared_pool && slots.context_size != 0 &&
            planned_tokens + manifest.tokens > slots.context_size) {
            // llama-server would refuse it as if it were damaged.
            skip(
                snapshot, {{fmt::format(
                                "no room beside the others in the {} tokens that the slots share",
                                slots.context_size),
                            "no room in the slots"}});
            plan.spares.push_back(std::move(snapshot));
        } else {
            planned_tokens += manifest.tokens;
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

bool are_never_reused(const std::vector<store::snapshot>& snapshots) {
    std::uint64_t missed = 0;
    for (const auto& one : snapshots) {
        if (one.manifest.reused != 0) {
            return false;
        }
        missed += one.manifest.missed;
    }
    constexpr std::uint64_t enough = 2; // one may be a mishap
    return missed >= enough;
}

std::optional<restore_step> take_spare(restore_plan& plan, const restore_step& instead_of) {
    const auto most = instead_of.snapshot.manifest.tokens;
    const auto fits = [&](const store::snapshot& spare) {
        return !plan.shared_pool || spare.manifest.tokens <= most;
    };
    const auto found = std::find_if(plan.spares.begin(), plan.spares.end(), fits);
    if (found == plan.spares.end()) {
        return std::nullopt;
    }
    restore_step step{std::move(*found), instead_of.slot};
    plan.spares.erase(found);
    return step;
}

std::vector<store::snapshot> plan_preload(const restore_plan& plan, std::uint64_t max_bytes) {
    const auto take = [&max_bytes](std::uint64_t bytes) {
        const bool fits = bytes <= max_bytes;
        max_bytes = fits ? max_bytes - bytes : 0;
        return fits;
    };
    for (const auto& step : plan.steps) {
        take(step.snapshot.manifest.bytes);
    }
    std::vector<store::snapshot> chosen;
    for (const auto& spare : plan.spares) {
        if (!take(spare.manifest.bytes)) {
            break;
        }
        chosen.push_back(spare);
    }
    std::reverse(chosen.begin(), chosen.end());
    return chosen;
}

std::vector<std::string>
read_ahead_order(std::vector<store::snapshot> snapshots, std::uint64_t max_bytes) {
    sort_by_age(snapshots);
    std::vector<std::string> ids;
    for (const auto& one : snapshots) {
        if (one.manifest.bytes > max_bytes) {
            break;
        }
        max_bytes -= one.manifest.bytes;
        ids.push_back(one.manifest.id);
    }
    return ids;
}

std::string describe_skipped(const restore_plan& plan) {
    if (plan.skipped.empty()) {
        return {};
    }
    return fmt::format(
        "skipped {} ({}): {}", format_count(plan.skipped.size(), "snapshot", "snapshots"),
        format_bytes(skipped_bytes(plan)),
        list_reasons(plan, &reason::full, told_reasons, "more reasons"));
}

std::string describe_skipped_briefly(const restore_plan& plan) {
    if (plan.skipped.empty()) {
        return {};
    }
    return fmt::format(
        "{} skipped: {}", plan.skipped.size(),
        list_reasons(plan, &reason::brief, briefly_told_reasons, "more"));
}

std::uint64_t skipped_bytes(const restore_plan& plan) {
    std::uint64_t bytes = 0;
    for (const auto& skipped : plan.skipped) {
        bytes += skipped.bytes;
    }
    return bytes;
}

} // namespace hibernate::keeper

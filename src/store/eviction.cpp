#include "llama_hibernate/store/eviction.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace hibernate::store {

namespace {

enum class rank {
    leftover,
    unusable,
    model_gone,
    other_signature,
    continued,
    retired,
    least_recent
};

struct candidate {
    std::size_t item = 0;
    store::rank rank = rank::least_recent;
    wall_time last_used{}; ///< of leftovers and of what has no manifest: long ago
    wall_time created{};   ///< what one start restored was last used at the same time
    std::string reason;

    friend bool operator<(const candidate& a, const candidate& b) {
        return std::tie(a.rank, a.last_used, a.created, a.item) <
               std::tie(b.rank, b.last_used, b.created, b.item);
    }
};

std::string reason_of(rank rank, const stored_item& item, const signature& now) {
    switch (rank) {
    case rank::leftover:
        return "the leftover of a save that was cut off";
    case rank::unusable:
        return item.problem;
    case rank::model_gone:
        return fmt::format("its model {} is not there any more", item.manifest->model_path);
    case rank::other_signature:
        return explain_difference(signature_of(*item.manifest), now);
    case rank::continued:
        return "another one continues it";
    case rank::retired:
        return "its restores were of no use";
    case rank::least_recent:
        return "the least recently used";
    }
    return {};
}

class planner {
public:
    planner(const inventory& stored, const eviction_question& question)
        : stored_(stored), question_(question), continued_(find_successors(stored)) {}

    std::vector<candidate> candidates() const {
        std::vector<candidate> found;
        for (std::size_t i = 0; i < stored_.items.size(); ++i) {
            const auto& item = stored_.items[i];
            if (const auto rank = rank_of(item)) {
                found.push_back(
                    {i, *rank, item.manifest ? item.manifest->last_used : wall_time{},
                     item.manifest ? item.manifest->created : wall_time{},
                     reason_of(*rank, item, question_.signature)});
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    /// Nothing for what must stay.
    std::optional<rank> rank_of(const stored_item& item) const {
        if (item.what == stored_item::kind::foreign || item.what == stored_item::kind::unreadable ||
            question_.closed_directories.contains(item.directory) ||
            (item.manifest && item.manifest->pinned)) {
            return std::nullopt;
        }
        if (item.what == stored_item::kind::leftover) {
            return rank::leftover;
        }
        const bool own = item.directory == question_.directory;
        const bool continued = continued_.contains({item.directory, item.id});
        if (own && !continued && question_.in_use.contains(item.id)) {
            return std::nullopt;
        }
        if (item.what != stored_item::kind::snapshot) {
            return rank::unusable;
        }
        if (question_.missing_models.contains(item.manifest->model_path)) {
            return rank::model_gone;
        }
        if (own && !compatible(signature_of(*item.manifest), question_.signature)) {
            return rank::other_signature;
        }
        if (continued) {
            return rank::continued;
        }
        return is_retired(*item.manifest) ? rank::retired : rank::least_recent;
    }

    const inventory& stored_;
    const eviction_question& question_;
    std::map<snapshot_key, std::string> continued_;
};

/// Whether there is room once so many bytes are gone.
bool enough_without(std::uint64_t freed, const inventory& stored, const eviction_question& asked) {
    const auto& bound = asked.bound;
    if (asked.needed > bound.max_disk || stored.bytes - freed > bound.max_disk - asked.needed) {
        return false;
    }
    if (!asked.saving || !stored.free_bytes) {
        return true;
    }
    const auto free = *stored.free_bytes + freed;
    return free >= bound.min_free && free - bound.min_free >= asked.needed;
}

bool nothing_for_sure(rank) {
    return false;
}
bool is_useless(rank rank) {
    return rank == rank::leftover || rank == rank::unusable;
}

/// for_sure tells which candidates go whether there is room or not; they are the first of all.
eviction_plan
make_plan(const inventory& stored, const eviction_question& question, bool (*for_sure)(rank)) {
    eviction_plan plan;
    std::size_t sure = 0;
    std::uint64_t freed = 0;
    plan.enough = enough_without(freed, stored, question);
    for (auto& next : planner(stored, question).candidates()) {
        const bool goes = for_sure(next.rank);
        if (plan.enough && !goes) {
            break;
        }
        sure += goes ? 1 : 0;
        freed += stored.items[next.item].bytes;
        plan.victims.push_back({next.item, std::move(next.reason)});
        plan.enough = enough_without(freed, stored, question);
    }
    if (!plan.enough) {
        plan.victims.resize(sure);
    }
    return plan;
}

} // namespace

bool has_room(const inventory& stored, const eviction_question& question) {
    return enough_without(0, stored, question);
}

eviction_plan plan_eviction(const inventory& stored, const eviction_question& question) {
    return make_plan(stored, question, nothing_for_sure);
}

eviction_plan plan_collection(const inventory& stored, const eviction_question& question) {
    return make_plan(stored, question, is_useless);
}

} // namespace hibernate::store

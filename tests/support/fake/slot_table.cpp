#include "slot_table.hpp"

#include <algorithm>

namespace fake {
namespace {

std::size_t common_prefix(const token_list& a, const token_list& b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(ends.first - a.begin());
}

std::uint64_t hash_of(const token_list& held) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const std::int32_t token : held)
        hash = (hash ^ static_cast<std::uint32_t>(token)) * 1099511628211ULL;
    return hash ^ hash >> 29;
}

} // namespace

slot_table::slot_table(const settings& settings)
    : slots_(static_cast<std::size_t>(settings.slot_count())),
      ram_enabled_(settings.cache_ram != 0),
      empties_idle_(settings.cache_idle_slots && settings.cache_ram != 0 && settings.unified()),
      hybrid_(settings.hybrid), weights_(settings.weights) {}

std::size_t slot_table::wrapped(long id) const noexcept {
    const long count = static_cast<long>(slots_.size());
    return static_cast<std::size_t>(((id % count) + count) % count);
}

std::optional<slot_table::choice> slot_table::choose(const token_list& prompt) const {
    std::optional<choice> best;
    double best_share = 0.10;
    for (std::size_t id = 0; id < slots_.size(); ++id) {
        const slot& candidate = slots_[id];
        if (candidate.busy || candidate.held.empty() || prompt.empty())
            continue;
        const double share = static_cast<double>(common_prefix(candidate.held, prompt)) /
                             static_cast<double>(prompt.size());
        if (share > best_share) {
            best_share = share;
            best = choice{id, false};
        }
    }
    if (best)
        return best;
    for (std::size_t id = 0; id < slots_.size(); ++id) {
        if (!slots_[id].busy && (!best || slots_[id].last_used < slots_[best->slot].last_used))
            best = choice{id, true};
    }
    return best;
}

std::size_t slot_table::begin(std::size_t id, const token_list& prompt, bool by_age, bool reuse) {
    slot& chosen = slots_[id];
    if (ram_enabled_) {
        // A share of an empty slot is 0/0, which is not below one half: a pinned request never
        // looks into the RAM cache for an empty slot.
        const bool diverges =
            !chosen.held.empty() && common_prefix(chosen.held, prompt) * 2 < chosen.held.size();
        if (by_age || diverges) {
            remember(chosen);
            recall(chosen, prompt);
        }
    }
    if (empties_idle_) {
        for (slot& other : slots_) {
            if (&other != &chosen && !other.busy) {
                remember(other);
                other.held.clear();
            }
        }
    }
    std::size_t reused = reuse && !chosen.useless ? common_prefix(chosen.held, prompt) : 0;
    chosen.useless = false;
    if (hybrid_ && reused < chosen.held.size())
        reused = 0;
    if (!prompt.empty()) {
        // At least one token is always computed; a recurrent state cannot step back for it.
        if (reused == prompt.size())
            reused = hybrid_ ? 0 : prompt.size() - 1;
    }
    if (reused == 0)
        chosen.weights = weights_;
    chosen.held = prompt;
    chosen.busy = true;
    chosen.task = ++tasks_;
    chosen.last_used = ++clock_;
    return reused;
}

void slot_table::forget() {
    for (slot& each : slots_)
        each = slot();
    ram_.clear();
}

void slot_table::remember(slot& from) {
    if (from.held.empty())
        return;
    for (const token_list& known : ram_) {
        if (common_prefix(known, from.held) == from.held.size())
            return;
    }
    std::erase_if(ram_, [&](const token_list& known) {
        return common_prefix(known, from.held) == known.size();
    });
    ram_.push_back(from.held);
}

void slot_table::recall(slot& into, const token_list& prompt) {
    std::size_t best_length = common_prefix(into.held, prompt);
    auto best = ram_.end();
    for (auto each = ram_.begin(); each != ram_.end(); ++each) {
        const std::size_t length = common_prefix(*each, prompt);
        if (length > best_length) {
            best_length = length;
            best = each;
        }
    }
    if (best == ram_.end())
        return;
    into.held = std::move(*best);
    ram_.erase(best);
}

std::int32_t next_token(const token_list& held) {
    const std::uint64_t hash = hash_of(held);
    const auto pick = static_cast<std::int32_t>(hash % 27);
    return pick == 26 ? ' ' : 'a' + pick;
}

std::vector<std::pair<std::int32_t, double>>
next_tokens(const token_list& held, int weights, bool in_two) {
    const std::uint64_t hash = hash_of(held) + static_cast<std::uint64_t>(weights) * 12345;
    std::vector<std::pair<std::int32_t, double>> found;
    for (std::uint64_t i = 0; i < 10; ++i) {
        const auto step = static_cast<double>(i);
        const auto token = static_cast<std::int32_t>((hash + 7 * i) % 256);
        found.emplace_back(token, -0.2 - 0.6 * step - (in_two ? 0.001 * step : 0.0));
    }
    return found;
}

} // namespace fake

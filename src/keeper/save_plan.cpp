#include "llama_hibernate/keeper/save_plan.hpp"

#include <algorithm>
#include <tuple>

namespace hibernate::keeper {

std::vector<slot_to_save> plan_save(
    const std::vector<llama::slot>& slots, const slot_table& known, std::uint64_t min_tokens) {
    struct candidate {
        int id = 0;
        std::uint64_t tokens = 0;
        std::uint64_t gained = 0; ///< since it was saved last
    };
    std::vector<candidate> changed;
    for (const auto& one : slots) {
        const auto tokens = one.tokens.value_or(0);
        if (tokens != 0 && tokens >= min_tokens && !known.is_saved(one)) {
            changed.push_back({one.id, tokens, known.gained(one)});
        }
    }
    std::sort(changed.begin(), changed.end(), [](const candidate& a, const candidate& b) {
        // The larger share of it, gained / tokens; then the larger gain.
        return std::tuple(b.gained * a.tokens, b.gained, a.id) <
               std::tuple(a.gained * b.tokens, a.gained, b.id);
    });
    std::vector<slot_to_save> ordered;
    for (const auto& one : changed) {
        ordered.push_back({one.id, one.tokens});
    }
    return ordered;
}

std::vector<slot_to_save> plan_save_blindly(int total_slots) {
    std::vector<slot_to_save> all;
    for (int id = 0; id < total_slots; ++id) {
        all.push_back({id, std::nullopt});
    }
    return all;
}

std::size_t count_too_short(
    const std::vector<llama::slot>& slots, const slot_table& known, std::uint64_t min_tokens) {
    return static_cast<std::size_t>(
        std::count_if(slots.begin(), slots.end(), [&](const llama::slot& one) {
            const auto tokens = one.tokens.value_or(0);
            return tokens != 0 && tokens < min_tokens && !known.is_saved(one);
        }));
}

} // namespace hibernate::keeper

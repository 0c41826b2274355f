#include "llama_hibernate/keeper/save_plan.hpp"

#include <algorithm>
#include <utility>

namespace hibernate::keeper {

std::vector<slot_to_save> plan_save(const std::vector<llama::slot>& slots) {
    std::vector<slot_to_save> full;
    for (const auto& one : slots) {
        if (one.tokens.value_or(0) > 0) {
            full.push_back({one.id, one.tokens});
        }
    }
    std::sort(full.begin(), full.end(), [](const slot_to_save& a, const slot_to_save& b) {
        return std::pair(*b.tokens, a.id) < std::pair(*a.tokens, b.id);
    });
    return full;
}

std::vector<slot_to_save> plan_save_blindly(int total_slots) {
    std::vector<slot_to_save> all;
    for (int id = 0; id < total_slots; ++id) {
        all.push_back({id, std::nullopt});
    }
    return all;
}

} // namespace hibernate::keeper

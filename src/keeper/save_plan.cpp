#include "llama_hibernate/keeper/save_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hibernate::keeper {

std::vector<int> plan_save(const std::vector<llama::slot>& slots) {
    std::vector<llama::slot> full;
    std::copy_if(slots.begin(), slots.end(), std::back_inserter(full), [](const llama::slot& one) {
        return one.tokens.value_or(0) > 0;
    });
    std::sort(full.begin(), full.end(), [](const llama::slot& a, const llama::slot& b) {
        return std::pair(*b.tokens, a.id) < std::pair(*a.tokens, b.id);
    });
    std::vector<int> ids;
    for (const auto& one : full) {
        ids.push_back(one.id);
    }
    return ids;
}

std::vector<int> plan_save_blindly(int total_slots) {
    std::vector<int> ids(static_cast<std::size_t>(std::max(total_slots, 0)));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

} // namespace hibernate::keeper

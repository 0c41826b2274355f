#include "llama_hibernate/keeper/crash_blame.hpp"

namespace hibernate::keeper {

bool condemns(const crash& seen) {
    constexpr std::uint64_t too_many = 2;
    const bool alone = seen.restored == 1 && !seen.answered_anything;
    return alone || seen.crashes >= too_many;
}

} // namespace hibernate::keeper

#include "llama_hibernate/keeper/boundary.hpp"

#include <algorithm>

namespace hibernate::keeper {

bool wants_boundary(const boundary_facts& facts) {
    if (facts.choice != boundary_choice::automatic) {
        return facts.choice == boundary_choice::always;
    }
    constexpr std::uint64_t proof = 2; // one may be a mishap
    const bool limited =
        facts.memory != llama::context_memory::everything && facts.checkpoints == false;
    const bool as_it_was = facts.went_on == store::continuation::verbatim;
    return !facts.too_dear && (facts.missed >= proof || (limited && !as_it_was));
}

std::optional<std::uint64_t> boundary_of(
    std::uint64_t slot_tokens,
    std::uint64_t prompt_tokens,
    std::uint64_t gap,
    std::uint64_t min_tokens) {
    const auto cut = prompt_tokens - std::min(prompt_tokens, gap);
    const bool worth_it =
        cut != 0 && cut >= min_tokens && cut < slot_tokens && cut >= slot_tokens - cut;
    return worth_it ? std::optional(cut) : std::nullopt;
}

} // namespace hibernate::keeper

#include "llama_hibernate/app/boundary_policy.hpp"

#include <algorithm>
#include <utility>

#include "llama_hibernate/base/log.hpp"

namespace hibernate::app {

void boundary_policy::begin_with(
    llama::context_memory memory,
    bool has_draft,
    const std::vector<store::snapshot>& snapshots,
    const store::signature& signature) {
    const bool before = wants_boundary(facts_);
    facts_.memory = memory;
    facts_.missed = 0;
    asks_for_draft_ = has_draft;
    facts_.too_dear = false;
    gap_ = 0;
    store::wall_time latest{};
    for (const auto& one : snapshots) {
        const auto& saved = one.manifest;
        if (!store::compatible(store::signature_of(saved), signature)) {
            continue;
        }
        if (saved.boundary_of.empty()) {
            facts_.missed = std::max(facts_.missed, saved.missed);
        }
        if (saved.went_on == store::continuation::changed && saved.created > latest) {
            latest = saved.created;
            gap_ = saved.boundary_gap;
        }
        facts_.too_dear = facts_.too_dear || saved.cut_cost > keeper::most_computed_for_boundary;
    }
    tell_if_wanted(before);
}

void boundary_policy::learn(const store::publication& saved) {
    const bool before = wants_boundary(facts_);
    const auto& made = saved.published->manifest;
    if (made.boundary_of.empty()) {
        facts_.missed = saved.reused_ids.empty() ? std::max(facts_.missed, made.missed) : 0;
        if (made.went_on == store::continuation::changed) {
            gap_ = made.boundary_gap;
        }
    }
    tell_if_wanted(before);
}

bool boundary_policy::asks_for_trailers() const {
    const bool for_checkpoints = facts_.choice == keeper::boundary_choice::automatic &&
                                 !facts_.checkpoints &&
                                 facts_.memory != llama::context_memory::everything;
    return for_checkpoints || asks_for_draft_;
}

void boundary_policy::learn_trailers(const llama::state_trailers& found) {
    const bool before = wants_boundary(facts_);
    facts_.checkpoints = !found.checkpoints.empty();
    tell_if_wanted(before);
    if (std::exchange(asks_for_draft_, false) && !found.draft) {
        log::info("this llama-server does not save the draft model's state: after a restore the "
                  "draft model may not know what was said before, and fewer of its drafts are "
                  "accepted; the answers stay the same");
    }
}

void boundary_policy::learn_cost(std::uint64_t computed) {
    if (computed <= keeper::most_computed_for_boundary || facts_.too_dear) {
        return;
    }
    facts_.too_dear = true;
    log::warning(
        "to cut a slot to its prompt made llama-server compute {} tokens, which is too much: it "
        "keeps no checkpoints in memory; prompts are not saved apart any more",
        computed);
}

void boundary_policy::give_up(const std::string& why) {
    if (!facts_.too_dear) {
        facts_.too_dear = true;
        log::warning("llama-server does not cut a slot to its prompt: {}", why);
    }
}

std::optional<std::uint64_t>
boundary_policy::cut(const store::manifest& saved, std::uint64_t min_tokens) const {
    auto facts = facts_;
    facts.went_on = saved.went_on;
    return wants_boundary(facts)
               ? keeper::boundary_of(saved.tokens, saved.prompt_tokens, gap_, min_tokens)
               : std::nullopt;
}

void boundary_policy::tell_if_wanted(bool before) const {
    if (!before && wants_boundary(facts_)) {
        log::info(
            "this model ({}) reuses a saved conversation only if a prompt repeats all of it: its "
            "prompts are saved apart as well",
            llama::to_string(facts_.memory));
    }
}

} // namespace hibernate::app

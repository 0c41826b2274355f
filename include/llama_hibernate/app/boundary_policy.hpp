#pragma once
// What is learned of how this child's conversations go on, and whether their prompts are saved
// apart because of it (keeper/boundary.hpp). It is used where the network is, and asks no disk.

#include <cstdint>
#include <optional>
#include <vector>

#include "llama_hibernate/keeper/boundary.hpp"
#include "llama_hibernate/llama/state_trailers.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

class boundary_policy {
public:
    explicit boundary_policy(keeper::boundary_choice choice) { facts_.choice = choice; }

    /// Of a child that begins: what was noted with the snapshots that are for it.
    void begin_with(
        llama::context_memory memory,
        bool has_draft, ///< a draft model's state is part of a slot
        const std::vector<store::snapshot>& snapshots,
        const store::signature& signature);

    void learn(const store::publication& saved);

    /// Whether it matters what follows the KV state in the files of this build, and none was looked
    /// at.
    bool asks_for_trailers() const;
    void learn_trailers(const llama::state_trailers& found);
    /// That a cut made the child compute so many tokens.
    void learn_cost(std::uint64_t computed);
    /// That the child does not do it, or not in time.
    void give_up(const std::string& why);

    /// To how many tokens the slot is cut of which that was saved; nothing: not at all.
    std::optional<std::uint64_t> cut(const store::manifest& saved, std::uint64_t min_tokens) const;

private:
    void tell_if_wanted(bool before) const;

    keeper::boundary_facts facts_;
    bool asks_for_draft_ = false;
    std::uint64_t gap_ = 0;
};

} // namespace hibernate::app

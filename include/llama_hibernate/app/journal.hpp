#pragma once
// What this daemon did with the conversations, for whoever watches: which snapshot is in which
// slot, what was restored and saved, and what that was worth. It decides nothing.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/admin/tallies.hpp"
#include "llama_hibernate/app/restoring.hpp"
#include "llama_hibernate/app/saving.hpp"
#include "llama_hibernate/keeper/slot_receipts.hpp"
#include "llama_hibernate/keeper/slot_table.hpp"
#include "llama_hibernate/llama/prompt_counts.hpp"

namespace hibernate::app {

class journal {
public:
    /// skipped are those that are not for this child; why as keeper::describe_skipped has it.
    void note_restore(
        const restore_report& report, std::size_t planned, std::size_t skipped, std::string why);

    /// Of a request that has ended; slots_empty_each_other: what was in other slots moved away.
    void note_request(const std::optional<llama::receipt>& receipt, bool slots_empty_each_other);

    /// turns_of: what ran in a slot until it was saved.
    using turns_of_slot = std::function<keeper::slot_turns(int slot)>;
    void
    note_save(const std::string& reason, const save_report& report, const turns_of_slot& turns_of);

    void note_eviction(const std::string& reason) { ++tallies_.evictions[reason]; }

    /// The child has died, or forgot.
    void forget_child() { slots_.clear(); }

    admin::tallies& tallies() noexcept { return tallies_; }
    const admin::tallies& tallies() const noexcept { return tallies_; }
    const std::optional<admin::restore_view>& restore() const noexcept { return restore_; }
    admin::reuse_view reuse() const;

    /// What is known of the slots, as people should see it. One with fewer tokens is not saved.
    std::vector<admin::slot_view>
    describe_slots(const std::vector<keeper::slot_state>& slots, std::uint64_t min_tokens) const;

private:
    void price();

    /// What was last written to, or read from, a slot's snapshot.
    struct kept {
        std::string snapshot;
        std::uint64_t tokens = 0;
        bool restored = false; ///< and nothing ran in it since
    };

    admin::tallies tallies_;
    std::map<int, kept> slots_;
    struct awaited {
        std::uint64_t tokens = 0;
        std::uint64_t useful_tokens = 0; ///< that the next prompt should find
    };
    std::map<std::string, awaited> awaited_; ///< not seen reused yet
    std::optional<admin::restore_view> restore_;
    bool restored_moved_ = false; ///< what was restored is not in its slot any more

    // What it costs to compute a token, and the tokens whose price is not known yet.
    std::uint64_t measured_tokens_ = 0;
    double measured_seconds_ = 0;
    std::uint64_t unpriced_tokens_ = 0;
};

} // namespace hibernate::app

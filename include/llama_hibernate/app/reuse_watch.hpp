#pragma once
// What becomes of the snapshots that were restored: reused, or computed again in vain. The first
// save that continues one tells, by the receipts of the requests that ran until then.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "llama_hibernate/app/saving.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/keeper/slot_receipts.hpp"
#include "llama_hibernate/llama/context_memory.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

class reuse_watch {
public:
    /// All that was restored into the child, and what of it is in the slots: the rest went through
    /// its RAM cache, which may have been too small, so that it can't be said to be missed.
    void begin_with(
        const std::vector<std::string>& restored_ids, const std::vector<std::string>& in_slots);

    /// For a save of a slot where those turns ran. It stands on its own: for another thread.
    store::reuse_judge judge(keeper::slot_turns turns) const;

    slot_saver::slot_history history_of(keeper::slot_turns turns) const;

    /// They were continued by a save; nothing that is saved later says anything of them.
    void settle(const std::vector<std::string>& superseded_ids);

private:
    std::set<std::string> awaited_;
    std::set<std::string> in_slots_;
};

/// One loud line if the restores of this model were never of use, and why, as far as its newest
/// snapshot tells. Returns whether there was one. Blocks, and may read a whole state file.
bool warn_if_never_reused(
    disk& disk,
    const std::filesystem::path& directory,
    const std::vector<store::snapshot>& snapshots,
    llama::context_memory memory);

} // namespace hibernate::app

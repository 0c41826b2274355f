#pragma once
// Which snapshots go into which slots when the child has loaded: pure, over what is on disk.
//
// One snapshot for each slot, the most recently saved ones: a conversation that goes on is saved
// anew, while one that is only restored each time makes room for others. The largest is restored
// first, while the KV pool is empty and has one run of free cells for it. A slot that a snapshot
// was saved from is preferred: that is where llama-server would look for it by similarity.

#include <cstdint>
#include <string>
#include <vector>

#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::keeper {

struct restore_step {
    store::snapshot snapshot;
    int slot = 0;
};

struct restore_plan {
    std::vector<restore_step> steps; ///< in the order in which they are to be done

    // What stays on disk, and why.
    struct skipped_snapshot {
        std::string id;
        std::uint64_t bytes = 0;
        std::string reason;
    };
    std::vector<skipped_snapshot> skipped;
};

struct slots_to_fill {
    int count = 0;
    std::uint64_t context_size = 0; ///< tokens that fit into one; 0: not known, everything fits
};

restore_plan plan_restore(
    std::vector<store::snapshot> snapshots,
    const store::signature& now,
    const slots_to_fill& slots);

/// One line for the log: "skipped 3 snapshots (1.20 GiB): cache-type-k f16, now q8_0", the reasons
/// each once; empty when nothing was skipped.
std::string describe_skipped(const restore_plan& plan);

/// The ids of snapshots that are beyond what is kept of this signature: the oldest
/// ones beyond the slot count, but never fewer than eight are kept.
std::vector<std::string> surplus_snapshots(
    std::vector<store::snapshot> snapshots, const store::signature& now, int slot_count);

} // namespace hibernate::keeper

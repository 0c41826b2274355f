#pragma once
// Which snapshots go into which slots when the child has loaded: pure, over what is on disk.
//
// One snapshot for each slot, the most recently saved ones: a conversation that goes on is saved
// anew, while one that is only restored each time makes room for others. The largest is restored
// first, while the KV pool is empty and has one run of free cells for it. A slot that a snapshot
// was saved from is preferred: that is where llama-server would look for it by similarity. Of a
// snapshot and its prompt (manifest::boundary_of) one is taken.

#include <cstdint>
#include <optional>
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

    /// What would be restored as well if there were a slot for it, the best first.
    std::vector<store::snapshot> spares;
    bool shared_pool = false; ///< as in slots_to_fill

    // What stays on disk, and why.
    struct skipped_snapshot {
        std::string id;
        std::uint64_t bytes = 0;
        /// Why, a clause each: every part of the signature that differs.
        struct reason {
            std::string full;  ///< "cache-type-k f16, now q8_0"
            std::string brief; ///< "cache-type-k differs"
            friend auto operator<=>(const reason&, const reason&) = default;
        };
        std::vector<reason> reasons;
    };
    std::vector<skipped_snapshot> skipped;
};

struct slots_to_fill {
    int count = 0;
    std::uint64_t context_size = 0; ///< tokens that fit into one; 0: not known, everything fits
    bool shared_pool = false;       ///< and no more than that into all of them together
};

restore_plan plan_restore(
    std::vector<store::snapshot> snapshots,
    const store::signature& now,
    const slots_to_fill& slots);

/// The spares that go through a slot into the child's RAM cache before the slots are filled, the
/// least valuable first, so that the most valuable were used last: the best ones that fit into
/// max_bytes together with what the slots get, which moves there, too.
std::vector<store::snapshot> plan_preload(const restore_plan& plan, std::uint64_t max_bytes);

/// The spare that can go where a step was to go that came to nothing; it is taken out of the plan.
/// None if no spare fits there.
std::optional<restore_step> take_spare(restore_plan& plan, const restore_step& instead_of);

/// The ids in the order in which a restore might want them, before it is known which of them are
/// for the child and how many slots it has: the most recently saved first, as many as have that
/// many bytes together. To read more than the memory can hold would help nobody.
std::vector<std::string>
read_ahead_order(std::vector<store::snapshot> snapshots, std::uint64_t max_bytes);

/// Whether what was restored has always been computed again, as far as the snapshots of one model
/// tell, and more than once.
bool are_never_reused(const std::vector<store::snapshot>& snapshots);

/// One line for the log: "skipped 3 snapshots (1.20 GiB): build b1, now b2; cache-type-k f16, now
/// q8_0 (2)", each reason once, the most frequent first, with how many have it unless all do; empty
/// when nothing was skipped.
std::string describe_skipped(const restore_plan& plan);

/// The same as a clause, without values: "3 skipped: build differs; cache-type-k differs (2)".
std::string describe_skipped_briefly(const restore_plan& plan);

std::uint64_t skipped_bytes(const restore_plan& plan);

} // namespace hibernate::keeper

#pragma once
// What goes when room is needed: pure, over an inventory.
//
// Victims, in this order, and only as many as are needed: leftovers, broken and quarantined
// snapshots, those of models that no longer exist, those of our own model with another signature,
// those that another one continues, those whose restores were of no use, and then the least
// recently used. Within each group the least recently used goes first. Never a victim is what is
// foreign, unreadable, pinned, in use, or in a directory that is not ours to change now. If all of
// that were not enough nothing goes.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::store {

/// What the store may take up, in bytes.
struct disk_bound {
    std::uint64_t max_disk = 0; ///< of everything under the root
    std::uint64_t min_free = 0; ///< what a save must leave free on the file system
};

struct eviction_question {
    disk_bound bound;
    std::uint64_t needed = 0;   ///< bytes that are about to be written
    bool saving = false;        ///< a save is about to begin or has just ended: min_free holds, too
    std::string directory;      ///< our own model's
    store::signature signature; ///< our child's
    /// Snapshots of our own directory that were restored or written in this life of the child. One
    /// that another snapshot continues is in use no more.
    std::set<std::string> in_use;
    /// Directories that others use, or where nothing can be removed.
    std::set<std::string> closed_directories;
    std::set<std::string> missing_models; ///< model paths where no file is any more
};

struct victim {
    std::size_t item = 0; ///< index into the inventory's items
    std::string reason;   ///< a clause
    /// The group that it belongs to: "leftover", "unusable", "model_gone", "other_signature",
    /// "continued", "retired" or "least_recent".
    const char* kind = "";
};

struct eviction_plan {
    bool enough = false;         ///< there is room, once the victims are gone
    std::vector<victim> victims; ///< in the order in which they are to go; none if not enough
};

eviction_plan plan_eviction(const inventory& stored, const eviction_question& question);

/// For a collection by hand: all that can never be restored, and beyond it as much as plan_eviction
/// would take. If that were not enough, only the former.
eviction_plan plan_collection(const inventory& stored, const eviction_question& question);

/// Whether there is room as it is.
bool has_room(const inventory& stored, const eviction_question& question);

} // namespace hibernate::store

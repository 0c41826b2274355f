#pragma once
// Everything under the store's root, with its size: what the bound holds over, what `store ls`
// shows, and what eviction chooses from. Reading it changes nothing and takes no lock.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

struct stored_item {
    enum class kind {
        snapshot,    ///< <id>.kv and <id>.json, and the manifest can be read
        quarantined, ///< the same, with a manifest that says why it is not to be used
        broken,      ///< the pair without a usable manifest, or with a file of another size
        leftover, ///< a staging file, or one half of a pair: remains of a kill, or a save under way
        foreign,  ///< whatever does not bear our names; counted, never removed
    };
    kind what = kind::foreign;
    std::string directory; ///< the model directory's name; empty: in the root itself
    std::string id;        ///< of snapshot, quarantined and broken; else empty
    std::vector<std::string>
        file_names;          ///< in the directory; for foreign directories: the one name
    std::uint64_t bytes = 0; ///< of all these files
    std::optional<store::manifest> manifest;
    std::string problem; ///< of quarantined and broken: one clause for people
};

struct inventory {
    std::vector<stored_item> items;
    std::uint64_t bytes = 0;      ///< of all items
    std::uint64_t free_bytes = 0; ///< of the file system that the root is on
};

/// Reads the root and each model directory in it; links are counted, not followed. What cannot be
/// read is left out. An absent root is an empty inventory.
inventory take_inventory(disk& disk, const std::filesystem::path& root);

} // namespace hibernate::store

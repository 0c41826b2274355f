#pragma once
// Everything under the store's root, with its size: what the bound holds over, what `store ls`
// shows, and what eviction chooses from. Reading it changes nothing and takes no lock.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

struct stored_item {
    enum class kind {
        snapshot,    ///< <id>.kv and <id>.json, and the manifest can be read
        quarantined, ///< the same, with a manifest that says why it is not to be used
        broken,      ///< the pair, but it can never be restored: no usable manifest, a file of
                     ///< another size, or data that a reboot may have lost
        unreadable,  ///< the pair, but a later version wrote its manifest, or the disk refuses to
                     ///< read it: it may be sound, and is never removed by itself
        leftover, ///< a staging file, or one half of a pair: remains of a kill, or a save under way
        foreign,  ///< whatever is not ours; counted, never removed
    };
    kind what = kind::foreign;
    std::string directory; ///< the model directory's name; empty: in the root itself
    std::string id;        ///< of snapshot, quarantined, broken and unreadable; else empty
    /// In the directory, in the order in which they are to be removed; of what is foreign the one
    /// name, which may be a directory's.
    std::vector<std::string> file_names;
    std::uint64_t bytes = 0; ///< of all these files, and of all in a foreign directory
    std::optional<store::manifest> manifest;
    std::string problem; ///< of quarantined, broken and unreadable: one clause for people
};

struct inventory {
    std::vector<stored_item> items; ///< directories and what is in each, by name
    std::uint64_t bytes = 0;        ///< of all items
    /// Of the file system that the root is on; nothing if it does not say.
    std::optional<std::uint64_t> free_bytes;
};

/// Reads the root and each model directory in it (those that bear such a name and hold a lock;
/// other folders are foreign); links are counted, not followed. What cannot be read is left out. An
/// absent root is an empty inventory. The locks of model directories are no items. Of foreign
/// directories the first 100,000 entries are counted, in case that the root is in the midst of
/// somebody's files.
inventory take_inventory(disk& disk, const std::filesystem::path& root);

/// The names of the model directories in the root that hold a lock, in order.
std::vector<std::string> model_directories(disk& disk, const std::filesystem::path& root);

/// How many items of a kind there are, and their bytes.
struct amount {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
};
amount amount_of(const inventory& stored, stored_item::kind what);

/// Directory and id.
using snapshot_key = std::pair<std::string, std::string>;

/// The snapshots that another one, which can be restored, continues, each with the id of that one:
/// they are kept until its data is on the medium, and are not restored meanwhile.
using successors = std::map<snapshot_key, std::string>;
successors find_successors(const inventory& stored);

/// The id of the snapshot that waits to supersede it; empty: none.
std::string successor_of(const stored_item& item, const successors& known);

/// What people call it: "ready", "superseded", "retired", "quarantined", "broken", "unreadable";
/// empty for what has no id.
const char* name_of_state(const stored_item& item, const std::string& superseded_by);

/// The bytes of all that is under the root, as an inventory counts them, without reading a file:
/// quick.
std::uint64_t measure(disk& disk, const std::filesystem::path& root);

} // namespace hibernate::store

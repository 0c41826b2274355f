#pragma once
// The manifest of a snapshot: <id>.json beside <id>.kv, JSON, versioned. Its rename is the commit of
// the snapshot. It holds no text and no token ids. Unknown fields are kept when it is written again.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llama_hibernate/store/signature.hpp"

namespace hibernate::store {

using wall_time = std::chrono::sys_seconds;

struct manifest {
    std::string id; ///< 16 lower-case hex digits; also the names of both files
    store::signature signature;
    std::string model_name; ///< for people
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::uint32_t state_version = 0; ///< of the state file
    wall_time created{};
    wall_time last_used{}; ///< saved or restored
    std::uint64_t uses = 0; ///< times restored
    std::string reason; ///< of the save: "stop"
    int slot = 0; ///< it was saved from

    /// XXH3-128 of the state file; empty until it was computed, which a save on stop does last.
    std::string checksum;
    /// The data is on the medium. If not, it may be trusted only during the boot that wrote it.
    bool synced = false;
    std::string boot_id;

    std::string unknown_fields; ///< a JSON object: what a later version wrote and we do not know
};

std::string write_manifest(const manifest& what);

/// The manifest, or one sentence on why the text is none.
struct manifest_reading {
    std::optional<manifest> value;
    std::string problem;
};
manifest_reading read_manifest(std::string_view json);

/// Whether a name is <16 hex digits> + extension (".kv", ".json").
bool is_snapshot_name(std::string_view name, std::string_view extension);

} // namespace hibernate::store

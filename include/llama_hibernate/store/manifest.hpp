#pragma once
// The manifest of a snapshot: <id>.json beside <id>.kv, JSON, versioned. Its rename is the commit
// of the snapshot. It holds no text and no token ids, only a hash of these. Unknown fields are kept
// when it is written again.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/store/signature.hpp"

namespace hibernate::store {

using wall_time = std::chrono::sys_time<std::chrono::milliseconds>;
wall_time wall_now();

/// "2026-09-28T12:33:20Z"
std::string format_time(wall_time time);

/// What a client sends of the last reply when a conversation goes on.
enum class continuation {
    unknown,
    verbatim, ///< all of it
    changed,  ///< less, or something else: without its reasoning, say
};

struct manifest {
    std::string id; ///< 16 lower-case hex digits; also the names of both files
    store::signature signature;
    std::string model_name; ///< for people
    std::string model_path; ///< of the file that the child had loaded: absolute, or empty
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::uint32_t state_version = 0; ///< of the state file
    wall_time created{};
    wall_time last_used{};  ///< saved or restored
    std::uint64_t uses = 0; ///< times restored
    /// Of those, the times when the conversation went on and found its tokens; and, in a row, when
    /// it went on and was computed again.
    std::uint64_t reused = 0;
    std::uint64_t missed = 0;
    std::chrono::microseconds save_time{0}; ///< as the child took it; 0: not known
    std::string reason;                     ///< of the save: "stop"

    /// Of the tokens the prompt that came last, without what was generated for it; 0: not known.
    std::uint64_t prompt_tokens = 0;
    /// The snapshot of the same moment that has the reply as well, of which this is the prompt.
    /// Empty: this one is whole.
    std::string boundary_of;
    /// How the conversation went on when this one was saved.
    continuation went_on = continuation::unknown;
    /// So many tokens at the end of the prompt before were not in the next one.
    std::uint64_t boundary_gap = 0;
    /// The most tokens that the child had to compute to cut a slot of this conversation to a
    /// prompt.
    std::uint64_t cut_cost = 0;
    int slot = 0; ///< it was saved from

    /// Of the tokens and media (lineage.hpp), which tells whether a later snapshot continues this
    /// one; empty where an earlier version wrote the manifest.
    std::string tokens_hash;

    /// XXH3-128 of the state file; empty until it was computed, which a save on stop does last.
    std::string checksum;
    /// The data is on the medium. If not, it may be trusted only during the boot that wrote it.
    bool synced = false;
    std::string boot_id;

    /// Never evicted (`llama-hibernate store pin`).
    bool pinned = false;
    /// Why it must not be restored any more, as one clause; empty: it may be.
    std::string quarantine;
    /// Children in a row that crashed while it was in them.
    std::uint64_t crashes = 0;

    /// The snapshots whose tokens are a prefix of this one's. They are removed once this one's
    /// data is on the medium; the list is for whoever has to finish that. Ids are never reused.
    std::vector<std::string> supersedes;

    /// A JSON object of what the reader did not know, which is written again; empty if there was
    /// nothing.
    std::string unknown_fields;
};

/// Restores of it were of no use twice in a row: it is not restored any more.
bool is_retired(const manifest& what);

/// How many of its tokens every client's next prompt should find: more than the prompt is of use
/// only to those that repeat the reply as it was.
std::uint64_t useful_tokens(const manifest& what);

std::string write_manifest(const manifest& what);

/// Its signature, with the version of its state file as a part: what is to be compared with what a
/// child asks for (store::compatible).
signature signature_of(const manifest& what);

/// The manifest, or why the text is none: a clause such as "its format 2 is newer than ...". Every
/// field of format 1 has to be there, with its type and within its range; only those that came
/// later may be absent: tokens_hash, reused, missed, save_us, prompt_tokens, boundary_of, went_on,
/// boundary_gap,
/// cut_cost.
struct manifest_reading {
    std::optional<manifest> value;
    std::string problem;
    /// The problem says nothing against the snapshot: a later version wrote it, or the disk
    /// refuses.
    bool may_be_sound = false;
};
manifest_reading read_manifest(std::string_view json);

/// Whether a name is <16 hex digits> + extension (".kv", ".json").
bool is_snapshot_name(std::string_view name, std::string_view extension);

constexpr std::size_t snapshot_id_digits = 16;

/// Whether it is 16 lower-case hex digits.
bool is_snapshot_id(std::string_view text);

} // namespace hibernate::store

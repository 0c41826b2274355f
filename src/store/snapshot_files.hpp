#pragma once
// The files of one snapshot, read and removed by id: what model_directory is built on.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

inline constexpr std::string_view state_extension = ".kv";
inline constexpr std::string_view manifest_extension = ".json";
inline constexpr std::string_view unfinished_extension = ".json.tmp";
/// flock'ed while a daemon uses the directory.
inline constexpr std::string_view lock_name = "lock";
/// write_account's.
inline constexpr std::string_view written_name = "written";
/// stop_record's.
inline constexpr std::string_view stopped_name = "stopped";
/// adoption_record's.
inline constexpr std::string_view adopted_name = "adopted";
/// What is wrong with a snapshot of another boot that was never synced. Where the system tells of
/// no boots it is only possible.
inline constexpr std::string_view lost_with_its_boot =
    "the machine may have restarted before it was synced to the disk";

/// staging-<digits>-<digits>.kv
bool is_staging_name(std::string_view name);

using name_set = std::set<std::string>;
io_result<name_set> names_in(disk& disk, const std::filesystem::path& directory);

/// The ids that have a manifest, whatever it may hold.
std::vector<std::string> committed_ids(const name_set& names);

std::filesystem::path
file_of(const std::filesystem::path& directory, const std::string& id, std::string_view extension);

/// The manifest in <id>.json, if it is one and says the same id.
manifest_reading
load_manifest(disk& disk, const std::filesystem::path& directory, const std::string& id);

/// The lock under which manifests are added, changed and removed, so that a daemon and commands do
/// not undo each other. Waits for a moment; then errc::resource_unavailable_try_again. Null where a
/// directory cannot be locked: on a network file system, say.
io_result<std::unique_ptr<file_lock>>
lock_for_edit(disk& disk, const std::filesystem::path& directory);

/// Changes the manifest of a snapshot in place, under that lock. errc::no_such_file_or_directory if
/// there is no usable manifest.
error_code edit_manifest(
    disk& disk,
    const std::filesystem::path& directory,
    const std::string& id,
    when_synced when,
    const std::function<void(manifest&)>& change);

/// How much of a state file is read to see whether it is what its manifest says. The start is
/// enough for a listing: what it does not find is found before a restore.
enum class read_extent { start, head };

/// A snapshot whose manifest, size and head agree, whose data can be trusted after a reboot, and
/// which is not in quarantine.
struct snapshot_reading {
    std::optional<store::manifest> manifest; ///< nothing if there is a problem
    llama::state_file_head head;             ///< empty if only the start was read
    std::string problem;
    bool quarantined = false; ///< its manifest says so; the problem is the reason
    bool damaged = false;     ///< it can be read and is not what was saved: it never will be
};
snapshot_reading load_snapshot(
    disk& disk,
    const std::filesystem::path& directory,
    const std::string& id,
    read_extent extent = read_extent::head);

/// The same of one whose manifest was read, and which may be in quarantine.
snapshot_reading examine_snapshot(
    disk& disk,
    const std::filesystem::path& directory,
    manifest saved,
    read_extent extent = read_extent::head);

/// The manifest first, so that a kill between the two leaves a file that belongs to no snapshot.
/// Waits for the lock as edit_manifest() does.
error_code
remove_snapshot(disk& disk, const std::filesystem::path& directory, const std::string& id);

} // namespace hibernate::store

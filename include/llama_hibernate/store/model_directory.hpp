#pragma once
// One model's snapshots on disk, which is also the child's --slot-save-path.
//
//     lock                   flock'ed while a daemon uses the directory
//     written                how much was written here today (write_account.hpp)
//     stopped                what the last stop saved (stop_record.hpp)
//     <id>.kv                the state file as llama-server wrote it; an id is 16 hex digits
//     <id>.json              its manifest: the rename of this file is the commit
//     <id>.json.tmp          a manifest being written
//     staging-<pid>-<n>.kv   being written by the child
//
// A save goes to a staging name, is checked, renamed to <id>.kv, and then its manifest is renamed
// to <id>.json; only then are the snapshots that it supersedes removed, and not before its own data
// is on the medium. So a kill at any instant, and a power cut too, leaves the old snapshot or the
// new one, whole. A .kv without a manifest, a manifest without its .kv, and staging files are
// leftovers of a kill: open() removes them. Files with other names are never touched. Everything
// here blocks; it belongs on a disk thread. snapshots(), make_durable() and note_restored()
// may run beside everything else: they share nothing with it but the files.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/types.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

/// Asked of each snapshot that a new one supersedes: whether the child reused it since it was
/// restored; nothing if that is not known.
using reuse_judge = std::function<std::optional<bool>(const manifest& old)>;

/// What is known of a file that the child has just written under a staging name.
struct staged_save {
    std::string staging_name;
    int slot = 0;
    std::uint64_t tokens = 0; ///< n_saved
    std::uint64_t bytes = 0;  ///< n_written
    std::chrono::microseconds time{0};
    std::string reason;
    store::signature signature;
    std::string model_name;
    std::string model_path;          ///< absolute, or empty
    reuse_judge was_reused;          ///< null: nothing is known
    std::uint64_t prompt_tokens = 0; ///< as in the manifest
    /// It is the prompt of that snapshot, of which the restores of earlier prompts were in vain so
    /// many times in a row.
    std::string boundary_of;
    std::uint64_t missed = 0;
    /// Sync and hash before the commit, so that even a power cut leaves the old snapshot or the new
    /// one. Without it the commit is quick, and make_durable() is to follow.
    bool durable = false;
};

/// A snapshot that is there, whole as far as its size and the start of its head tell.
struct snapshot {
    store::manifest manifest;
    std::string file_name; ///< "<id>.kv", as the child takes it
};

/// The outcome of a publication: the new snapshot, or why there is none (the old ones are still
/// there), and what it superseded.
struct publication {
    std::optional<snapshot> published;
    std::string problem;
    std::vector<std::string> superseded_ids; ///< removed by now, or once the new one is durable
    std::vector<std::string> reused_ids;     ///< those of them of which was_reused said so
    std::vector<std::string> missed_ids;     ///< or that they were not
    std::uint64_t boundary_missed = 0;       ///< of the prompts among them, in a row
};

/// Whether a snapshot is what was saved.
enum class soundness {
    sound,       ///< it is, as far as its manifest can tell
    quarantined, ///< it is not, and will not be offered any more
    unknown,     ///< the reading was stopped, or the disk refused it
};

class model_directory {
public:
    /// Creates the directory (0700) and what is missing of its root, takes its lock and clears
    /// leftovers. A root that exists keeps its modes. Fails with the system's
    /// error when that is not possible, and with errc::resource_unavailable_try_again while another
    /// process holds the lock.
    static io_result<std::unique_ptr<model_directory>>
    open(disk& disk, const std::filesystem::path& root, const std::string& name);

    const std::filesystem::path& path() const noexcept { return path_; }

    /// Creates the directory anew, and takes its lock, if it was removed while we used it. Fails as
    /// open() does.
    error_code recreate_if_removed();

    /// Every committed snapshot that no other supersedes. One whose file has another size or begins
    /// otherwise than was saved, or that was never synced before the machine rebooted, is put into
    /// quarantine; one whose manifest or file cannot be read is left out with a log line, once.
    /// Those in quarantine are left out quietly, and hide nothing. None of them stops a start.
    /// Token lists are not read: check() does that.
    std::vector<snapshot> snapshots();

    /// The manifests of those in quarantine, each with its reason.
    std::vector<manifest> quarantined();

    /// From now on the snapshot is not offered, whatever becomes of us; one log line says why. The
    /// reason is one clause; a long one is cut. Where the disk refuses to keep it, it holds for the
    /// life of this object.
    void quarantine(const std::string& id, const std::string& reason);

    /// Notes that a child crashed with the snapshot in it; returns how many did so in a row by now,
    /// or 0 if that cannot be noted.
    std::uint64_t note_crash(const std::string& id);

    /// Notes that a child with the snapshot in it stopped as it should.
    void note_survival(const std::string& id);

    /// A name for the child to save to that nothing else uses.
    std::string new_staging_name();

    /// The empty file of that name, so that it is ours alone (0600) before the child writes to it,
    /// whatever the child's umask is.
    error_code create_staging(const std::string& staging_name);

    /// Checks the staged file (tokens > 0, size as written, readable head with the same token
    /// count) and commits it. Superseded are the snapshots of the same signature whose tokens are a
    /// prefix of the new ones, or equal to them, as their manifests tell (lineage.hpp), whole or
    /// not: their pin, their uses and what became of those pass on. If of a pair
    /// (manifest::boundary_of) only the prompt is a prefix, the client has changed the reply, and
    /// the whole is superseded as well. Those in quarantine stay. An empty save replaces nothing.
    /// If the check or any step fails the staging file is removed, and the old snapshots stay.
    publication publish(const staged_save& save, wall_time now);

    /// Syncs the file and its directory, computes the checksum, says so in the manifest, and
    /// removes what the snapshot supersedes. If it is not there, whole, the error is
    /// errc::no_such_file_or_directory.
    error_code make_durable(const std::string& id);

    /// Notes a restore in the manifest: uses and last_used.
    error_code note_restored(const std::string& id, wall_time now);

    /// Notes what it took to cut the slot to the prompt, after that snapshot of it.
    error_code note_cut(const std::string& id, std::uint64_t computed_tokens);

    /// To be asked before each restore. The whole file is read, again only if it was changed since,
    /// and compared with its checksum; a mismatch puts it into quarantine. A snapshot without a
    /// checksum was saved by this boot of the machine and not synced yet: a sum made now would
    /// prove nothing, so it is judged by its size and head. Ends soon after watch says no.
    soundness check(const std::string& id, const read_watch& watch = {});

    void discard_staging(const std::string& staging_name);

private:
    model_directory(disk& disk, std::filesystem::path path, std::unique_ptr<file_lock> lock);

    error_code clear_leftovers();
    error_code remove_leftovers();
    void finish_publications();
    void remove_superseded(const std::string& old, const std::string& by);
    void leave_out(const std::string& id, const std::string& problem);

    disk& disk_;
    std::filesystem::path path_;
    std::unique_ptr<file_lock> lock_;
    std::atomic<unsigned> next_staging_;
    /// Read and found to be what was saved; with disk::version of the state file.
    std::map<std::string, std::string> sound_versions_;
    std::set<std::string> distrusted_;   ///< in quarantine, which the disk refused to keep
    std::set<std::string> left_out_ids_; ///< of which the log has told
};

} // namespace hibernate::store

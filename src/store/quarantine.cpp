// What model_directory does about snapshots that are not what was saved.

#include <fmt/core.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/verification.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

namespace {

constexpr std::size_t longest_reason = 300; ///< bytes; it may hold what others said

} // namespace

void model_directory::leave_out(const std::string& id, const std::string& problem) {
    if (left_out_ids_.insert(id).second) {
        log::warning("snapshot {} in {} is left out: {}", id, path_.string(), problem);
    }
}

std::vector<manifest> model_directory::quarantined() {
    std::vector<manifest> found;
    const auto names = names_in(disk_, path_);
    if (!names) {
        return found;
    }
    for (const auto& id : committed_ids(*names)) {
        auto saved = load_manifest(disk_, path_, id);
        if (saved.value && !saved.value->quarantine.empty()) {
            found.push_back(std::move(*saved.value));
        }
    }
    return found;
}

void model_directory::quarantine(const std::string& id, const std::string& reason) {
    if (!load_manifest(disk_, path_, id).value) {
        leave_out(id, reason);
        return;
    }
    log::write(
        log::level::warning, fmt::format("snapshot {} is put into quarantine: {}", id, reason),
        {{"snapshot", id}});
    const auto note = [&reason](manifest& changed) {
        changed.quarantine = reason.empty() ? "nobody said why" : reason.substr(0, longest_reason);
    };
    // Quick, because it may be the last that we do before we exit.
    if (const auto failed = edit_manifest(disk_, path_, id, when_synced::later, note)) {
        log::warning("the quarantine of snapshot {} cannot be noted: {}", id, failed.message());
        distrusted_.insert(id);
    }
}

std::uint64_t model_directory::note_crash(const std::string& id) {
    std::uint64_t crashes = 0;
    const auto note = [&crashes](manifest& changed) { crashes = ++changed.crashes; };
    // Quick, because we exit after this.
    if (const auto failed = edit_manifest(disk_, path_, id, when_synced::later, note)) {
        log::warning("snapshot {}: the crash cannot be noted: {}", id, failed.message());
        return 0;
    }
    return crashes;
}

void model_directory::note_survival(const std::string& id) {
    const auto saved = load_manifest(disk_, path_, id);
    if (!saved.value || saved.value->crashes == 0) {
        return; // as nearly always: nothing to write
    }
    const auto note = [](manifest& changed) { changed.crashes = 0; };
    if (const auto failed = edit_manifest(disk_, path_, id, when_synced::later, note)) {
        log::debug("snapshot {}: its survival cannot be noted: {}", id, failed.message());
    }
}

soundness model_directory::check(const std::string& id, const read_watch& watch) {
    if (!is_snapshot_id(id)) {
        return soundness::unknown;
    }
    const auto reading = load_snapshot(disk_, path_, id);
    if (reading.quarantined || distrusted_.contains(id)) {
        return soundness::quarantined;
    }
    if (reading.damaged) {
        quarantine(id, reading.problem);
        return soundness::quarantined;
    }
    if (!reading.manifest) {
        leave_out(id, reading.problem);
        return soundness::unknown;
    }
    const auto version = disk_.version(file_of(path_, id, state_extension));
    const auto known = sound_versions_.find(id);
    const bool unchanged = version && known != sound_versions_.end() && known->second == *version;
    if (reading.manifest->checksum.empty() || unchanged) {
        return soundness::sound;
    }
    const auto found = verify_checksum(disk_, path_, *reading.manifest, watch);
    switch (found.what) {
    case verification::verdict::sound:
    case verification::verdict::not_summed:
        break;
    case verification::verdict::damaged:
        quarantine(id, found.problem);
        return soundness::quarantined;
    case verification::verdict::unreadable:
        leave_out(id, found.problem);
        return soundness::unknown;
    case verification::verdict::cancelled:
        return soundness::unknown;
    }
    if (version) {
        sound_versions_[id] = *version;
    }
    return soundness::sound;
}

} // namespace hibernate::store

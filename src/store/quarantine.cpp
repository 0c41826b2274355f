// What model_directory does about snapshots that are not what was saved.

#include <fmt/core.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

namespace {

constexpr std::size_t longest_reason = 300; ///< bytes; it may hold what others said
constexpr const char* checksum_differs =
    "its state file was changed since it was saved: the checksum differs";

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
    auto saved = load_manifest(disk_, path_, id);
    if (!saved.value) {
        leave_out(id, reason);
        return;
    }
    log::warning("snapshot {} is put into quarantine: {}", id, reason);
    saved.value->quarantine = reason.empty() ? "nobody said why" : reason.substr(0, longest_reason);
    // Quick, because it may be the last that we do before we exit.
    if (const auto failed = disk_.replace(
            file_of(path_, id, manifest_extension), write_manifest(*saved.value),
            when_synced::later)) {
        log::warning("the quarantine of snapshot {} cannot be noted: {}", id, failed.message());
        distrusted_.insert(id);
    }
}

soundness model_directory::check(const std::string& id, const std::atomic<bool>* stop) {
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
    if (reading.manifest->checksum.empty() || sound_ids_.contains(id)) {
        return soundness::sound;
    }
    const auto checksum = disk_.checksum(file_of(path_, id, state_extension), stop);
    if (!checksum) {
        if (checksum.error() != boost::system::errc::operation_canceled) {
            leave_out(
                id, fmt::format("its state file cannot be read: {}", checksum.error().message()));
        }
        return soundness::unknown;
    }
    if (*checksum != reading.manifest->checksum) {
        quarantine(id, checksum_differs);
        return soundness::quarantined;
    }
    sound_ids_.insert(id);
    return soundness::sound;
}

std::string model_directory::verify(const std::string& id) {
    if (!is_snapshot_id(id)) {
        return "it is no snapshot";
    }
    const auto reading = load_snapshot(disk_, path_, id);
    if (!reading.manifest) {
        return reading.problem;
    }
    if (reading.manifest->checksum.empty()) {
        return {};
    }
    const auto checksum = disk_.checksum(file_of(path_, id, state_extension));
    if (!checksum) {
        return fmt::format("its state file cannot be read: {}", checksum.error().message());
    }
    if (*checksum != reading.manifest->checksum) {
        return checksum_differs;
    }
    return {};
}

} // namespace hibernate::store

#include "llama_hibernate/store/verification.hpp"

#include <utility>

#include <fmt/core.h>

#include "snapshot_files.hpp"

namespace hibernate::store {

using verdict = verification::verdict;

verification verify_snapshot(
    disk& disk,
    const std::filesystem::path& directory,
    const std::string& id,
    const read_watch& watch) {
    if (!is_snapshot_id(id)) {
        return {verdict::damaged, "it is no snapshot"};
    }
    auto saved = load_manifest(disk, directory, id);
    if (!saved.value) {
        return {
            saved.may_be_sound ? verdict::unreadable : verdict::damaged, std::move(saved.problem)};
    }
    auto reading = examine_snapshot(disk, directory, std::move(*saved.value));
    if (!reading.manifest) {
        return {
            reading.damaged ? verdict::damaged : verdict::unreadable, std::move(reading.problem)};
    }
    return verify_checksum(disk, directory, *reading.manifest, watch);
}

verification verify_checksum(
    disk& disk,
    const std::filesystem::path& directory,
    const manifest& saved,
    const read_watch& watch) {
    if (saved.checksum.empty()) {
        return {verdict::not_summed, {}};
    }
    const auto checksum = disk.checksum(file_of(directory, saved.id, state_extension), watch);
    if (!checksum) {
        if (checksum.error() == boost::system::errc::operation_canceled) {
            return {verdict::cancelled, {}};
        }
        return {
            verdict::unreadable,
            fmt::format("its state file cannot be read: {}", checksum.error().message())};
    }
    if (*checksum != saved.checksum) {
        return {
            verdict::damaged,
            "its state file was changed since it was saved: the checksum differs"};
    }
    return {verdict::sound, {}};
}

} // namespace hibernate::store

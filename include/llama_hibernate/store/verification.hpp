#pragma once
// Whether a snapshot is still what was saved: its manifest, the size and head of its state file,
// and the checksum of the whole of it. Changes nothing and takes no lock, so it may run beside a
// daemon that uses the directory.

#include <filesystem>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

struct verification {
    enum class verdict {
        sound,
        not_summed, ///< as far as its size and head tell; its checksum was not computed yet
        damaged,    ///< it can never be restored
        unreadable, ///< the disk refuses to tell
        cancelled,  ///< watch said no
    };
    verdict what = verdict::unreadable;
    std::string problem; ///< of damaged and unreadable: a clause
};

/// One in quarantine is read as any other.
verification verify_snapshot(
    disk& disk,
    const std::filesystem::path& directory,
    const std::string& id,
    const read_watch& watch = {});

/// The same of one whose manifest, size and head were found to be right.
verification verify_checksum(
    disk& disk,
    const std::filesystem::path& directory,
    const manifest& saved,
    const read_watch& watch = {});

} // namespace hibernate::store

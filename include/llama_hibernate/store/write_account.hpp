#pragma once
// How much was written into one model directory today, so that saves that could wait do not wear
// out an SSD. Kept in the file "written" there, beyond the life of a daemon:
//
//     {"day": "2026-11-30", "bytes": 1234567}
//
// A day is one of UTC. What cannot be read counts as nothing written; what cannot be written holds
// for the life of this object.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

class write_account {
public:
    /// Blocks, as note() does: they belong on a disk thread. disk outlives it.
    write_account(disk& disk, const std::filesystem::path& directory);

    std::uint64_t written_today(wall_time now) const; ///< from any thread, at once
    void note(std::uint64_t bytes, wall_time now);

private:
    disk& disk_;
    std::filesystem::path file_;
    mutable std::mutex mutex_; ///< of what follows
    std::string day_;
    std::uint64_t bytes_ = 0;
};

} // namespace hibernate::store

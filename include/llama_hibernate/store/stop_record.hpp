#pragma once
// What the last stop of a daemon saved, kept in the file "stopped" in the model directory so that
// the next one, or a command, can tell:
//
//     {"ended": 1796051045000, "conversations": 2, "tokens": 3014, "bytes": 6230016,
//      "milliseconds": 120, "not_saved": 0, "missing_milliseconds": 0, "cut_short": false}
//
// "ended" is in milliseconds since 1970. A kill -9 leaves the one before. What cannot be read
// counts as none.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::store {

struct stop_record {
    wall_time ended{};
    std::uint64_t conversations = 0; ///< that were saved
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds time{0};
    std::uint64_t not_saved = 0;               ///< slots that held something which was lost
    std::chrono::milliseconds missing_time{0}; ///< that it would have taken beyond the budget
    bool cut_short = false;                    ///< by a second signal, or a kill before it was done

    friend bool operator==(const stop_record&, const stop_record&) = default;
};

std::optional<stop_record> read_stop_record(disk& disk, const std::filesystem::path& directory);

error_code
write_stop_record(disk& disk, const std::filesystem::path& directory, const stop_record& what);

} // namespace hibernate::store

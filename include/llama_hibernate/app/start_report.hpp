#pragma once
// What came of a start: the log's last line of it, and a service manager's status.

#include <chrono>
#include <cstdint>
#include <string>

namespace hibernate::app {

struct restore_summary {
    bool kept = true;   ///< whether conversations are saved and restored at all
    bool wanted = true; ///< whether this start was to restore any
    std::size_t conversations = 0;
    std::uint64_t tokens = 0;
    std::chrono::milliseconds time{0};
    std::size_t adopted = 0;   ///< files that became snapshots
    std::size_t left_out = 0;  ///< planned, and not restored
    std::size_t skipped = 0;   ///< not even planned
    std::string skipped_brief; ///< keeper::describe_skipped_briefly
};

/// "5 conversations, 61,204 tokens restored (800 ms), 1 not restored, 2 files adopted, 3 skipped:
/// build differs"
std::string describe(const restore_summary& what);

/// "ready in 4.1 s: 5 conversations, ..."
void report_start(const restore_summary& what, std::chrono::milliseconds took);

} // namespace hibernate::app

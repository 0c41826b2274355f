#pragma once
// How fast the child saves, as measured: pure. What will not fit into the time that is left is not
// begun: a save that is cut off is worth nothing, and took the time of another one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::keeper {

class save_speed {
public:
    /// Of one save. Later ones count more: a disk may have become busy.
    void note(std::uint64_t bytes, std::chrono::microseconds time);

    /// The saves of earlier runs, as the snapshots tell them: until one is measured in this run,
    /// the quickest of them counts.
    void remember(const std::vector<store::snapshot>& snapshots);

    /// What so many bytes would take; nothing if none was measured, or none large enough to tell.
    std::optional<std::chrono::milliseconds> time_for(std::uint64_t bytes) const;

    /// Whether that is from this run. What is thought to be too slow is not tried, and so is not
    /// measured again: a bad day of the disk must not be believed for ever.
    bool is_measured() const { return measured_; }

private:
    double bytes_ = 0;
    double microseconds_ = 0;
    bool measured_ = false;
};

} // namespace hibernate::keeper

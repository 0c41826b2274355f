#include "llama_hibernate/keeper/save_speed.hpp"

#include <utility>

namespace hibernate::keeper {

namespace {

constexpr double shortest = 5'000; // microseconds; less is mostly waiting for the child's turn

} // namespace

void save_speed::note(std::uint64_t bytes, std::chrono::microseconds time) {
    if (!std::exchange(measured_, true)) {
        bytes_ = 0;
        microseconds_ = 0;
    }
    constexpr double kept = 0.5;
    bytes_ = bytes_ * kept + static_cast<double>(bytes);
    microseconds_ = microseconds_ * kept + static_cast<double>(time.count());
}

void save_speed::remember(const std::vector<store::snapshot>& snapshots) {
    if (measured_) {
        return;
    }
    double quickest = 0;
    for (const auto& one : snapshots) {
        const auto time = static_cast<double>(one.manifest.save_time.count());
        const auto speed = time < shortest ? 0 : static_cast<double>(one.manifest.bytes) / time;
        if (speed > quickest) {
            quickest = speed;
            bytes_ = static_cast<double>(one.manifest.bytes);
            microseconds_ = time;
        }
    }
}

std::optional<std::chrono::milliseconds> save_speed::time_for(std::uint64_t bytes) const {
    if (bytes_ <= 0 || microseconds_ < shortest) {
        return std::nullopt;
    }
    constexpr double microseconds_in_one = 1'000;
    const auto time = static_cast<double>(bytes) * microseconds_ / bytes_ / microseconds_in_one;
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(time));
}

} // namespace hibernate::keeper

#include "llama_hibernate/keeper/save_speed.hpp"

namespace hibernate::keeper {

void save_speed::note(std::uint64_t bytes, std::chrono::microseconds time) {
    constexpr double kept = 0.5;
    bytes_ = bytes_ * kept + static_cast<double>(bytes);
    microseconds_ = microseconds_ * kept + static_cast<double>(time.count());
}

std::optional<std::chrono::milliseconds> save_speed::time_for(std::uint64_t bytes) const {
    constexpr double shortest = 5'000; // microseconds; less is mostly waiting for the child's turn
    if (bytes_ <= 0 || microseconds_ < shortest) {
        return std::nullopt;
    }
    constexpr double microseconds_in_one = 1'000;
    const auto time = static_cast<double>(bytes) * microseconds_ / bytes_ / microseconds_in_one;
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(time));
}

} // namespace hibernate::keeper

#include "llama_hibernate/base/recent_lines.hpp"

#include <utility>

namespace hibernate::log {

void recent_lines::note(recent_line line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    if (lines_.size() > most) {
        lines_.pop_front();
    }
    ++count_;
}

std::vector<recent_line> recent_lines::all() const {
    const std::lock_guard lock(mutex_);
    return {lines_.begin(), lines_.end()};
}

std::uint64_t recent_lines::count() const {
    const std::lock_guard lock(mutex_);
    return count_;
}

} // namespace hibernate::log

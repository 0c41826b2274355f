#pragma once
// The last lines of our own log, for whoever shows them elsewhere: whatever level is written.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hibernate::log {

enum class level;

struct recent_line {
    std::chrono::sys_time<std::chrono::milliseconds> time;
    log::level level{};
    std::string text; ///< harmless for a terminal, as it was logged

    friend bool operator==(const recent_line&, const recent_line&) = default;
};

/// Safe from any thread.
class recent_lines {
public:
    void note(recent_line line);

    std::vector<recent_line> all() const; ///< the latest last
    std::uint64_t count() const;          ///< of all that ever came: whether there is something new

    static constexpr std::size_t most = 50;

private:
    mutable std::mutex mutex_;
    std::deque<recent_line> lines_;
    std::uint64_t count_ = 0;
};

/// Of this process: every line of info, warning or error since it began, as far as they are kept.
const recent_lines& recent();

} // namespace hibernate::log

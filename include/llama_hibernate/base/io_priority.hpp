#pragma once
// Reading that must not get in anybody's way.

namespace hibernate {

/// While it lives, the disk serves the calling thread only when nobody else wants anything from it
/// (Linux's idle class, which all but the simplest schedulers obey). Elsewhere it does nothing. It
/// is destroyed on the thread that made it.
class idle_io_priority {
public:
    idle_io_priority() noexcept;
    ~idle_io_priority();
    idle_io_priority(const idle_io_priority&) = delete;
    idle_io_priority& operator=(const idle_io_priority&) = delete;

private:
    int before_; ///< what the thread had; negative: not known, and not changed
};

} // namespace hibernate

#include "llama_hibernate/base/io_priority.hpp"

#include "llama_hibernate/base/platform.hpp"

#if defined(HIBERNATE_LINUX)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hibernate {

namespace {

#if defined(HIBERNATE_LINUX) && defined(SYS_ioprio_set)

// The kernel's ABI; the C library has no header for it.
constexpr int of_a_thread = 1;      // IOPRIO_WHO_PROCESS; the id 0 is the calling thread
constexpr int idle_class = 3 << 13; // IOPRIO_CLASS_IDLE, with no level
constexpr int class_bits = 0x7 << 13;

int current_priority() noexcept {
    return static_cast<int>(syscall(SYS_ioprio_get, of_a_thread, 0));
}
bool set_priority(int value) noexcept {
    return syscall(SYS_ioprio_set, of_a_thread, 0, value) == 0;
}
/// A thread without a class of its own may be told one that is made up from its niceness, or only
/// that level; "none" is 0 as a whole.
int settable(int value) noexcept {
    return (value & class_bits) == 0 ? 0 : value;
}

#else

constexpr int idle_class = 0;

int current_priority() noexcept {
    return -1;
}
bool set_priority(int) noexcept {
    return false;
}
int settable(int value) noexcept {
    return value;
}

#endif

} // namespace

idle_io_priority::idle_io_priority() noexcept : before_(current_priority()) {
    if (before_ >= 0 && !set_priority(idle_class)) {
        before_ = -1;
    }
}

idle_io_priority::~idle_io_priority() {
    if (before_ >= 0) {
        set_priority(settable(before_));
    }
}

} // namespace hibernate

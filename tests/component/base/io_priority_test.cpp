#include "llama_hibernate/base/io_priority.hpp"

#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "catch.hpp"
#include "llama_hibernate/base/platform.hpp"

namespace {

constexpr int class_shift = 13;
[[maybe_unused]] constexpr int idle_class = 3;

/// What the kernel says of this thread.
int io_class() {
    return static_cast<int>(syscall(SYS_ioprio_get, 1, 0)) >> class_shift;
}

} // namespace

TEST_CASE("a thread reads at idle priority for as long as it wants to, and others do not") {
    const int before = io_class();
    int during = -1;
    int after = -1;
    std::thread reader([&] {
        {
            const hibernate::idle_io_priority idle;
            during = io_class();
        }
        after = io_class();
    });
    reader.join();
#if defined(HIBERNATE_LINUX)
    CHECK(during == idle_class);
#else
    CHECK(during == before);
#endif
    CHECK(after == before);
    CHECK(io_class() == before);
}

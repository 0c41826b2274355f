#include "llama_hibernate/process/descriptor_limit.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace hibernate::process {

namespace {

// The limit is the process's, and so is the memory of it.
rlimit given{};
bool raised = false;

} // namespace

void raise_descriptor_limit(std::size_t wanted) noexcept {
    rlimit limit{};
    if (raised || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return;
    }
    given = limit;
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void restore_descriptor_limit() noexcept {
    if (raised) {
        setrlimit(RLIMIT_NOFILE, &given);
    }
}

} // namespace hibernate::process

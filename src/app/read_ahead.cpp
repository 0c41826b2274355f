#include "llama_hibernate/app/read_ahead.hpp"

#include <chrono>
#include <set>
#include <string>

#include <fmt/format.h>

#include "llama_hibernate/base/io_priority.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/memory.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/keeper/restore_plan.hpp"

namespace hibernate::app {

using clock = std::chrono::steady_clock;

void report_quarantine(store::model_directory& directory) {
    const auto quarantined = directory.quarantined();
    if (quarantined.empty()) {
        return;
    }
    std::uint64_t bytes = 0;
    std::set<std::string> reasons;
    for (const auto& one : quarantined) {
        bytes += one.bytes;
        reasons.insert(one.quarantine);
    }
    log::warning(
        "not restored: {} ({}) in quarantine: {}",
        format_count(quarantined.size(), "snapshot", "snapshots"), format_bytes(bytes),
        fmt::join(reasons, "; "));
}

void check_ahead(store::model_directory& directory, const std::atomic<bool>& stop) {
    const idle_io_priority idle;
    const auto start = clock::now();
    std::size_t sound = 0;
    const auto goes_on = [&stop](std::uint64_t) { return !stop; };
    for (const auto& id : keeper::read_ahead_order(directory.snapshots(), memory_for_snapshots())) {
        if (stop) {
            break;
        }
        if (directory.check(id, goes_on) == store::soundness::sound) {
            ++sound;
        }
    }
    log::debug(
        "checked {} while llama-server loads, in {}", format_count(sound, "snapshot", "snapshots"),
        format_duration(
            std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start)));
}

std::uint64_t memory_for_snapshots() {
    constexpr std::uint64_t share = 4;
    constexpr std::uint64_t usual = std::uint64_t{4} << 30; // where the system does not say
    return available_memory().value_or(usual) / share;
}

} // namespace hibernate::app

#pragma once
// Snapshots as a restore plan gets them, and what it makes of them.

#include <chrono>
#include <string>

#include "llama_hibernate/keeper/restore_plan.hpp"

namespace hibernate::test {

inline const store::signature now_signature{{{"model", "abc"}, {"build", "b1"}}};

inline store::snapshot
snapshot(const std::string& id, std::uint64_t tokens, int saved_at, int slot = 0) {
    store::snapshot result;
    result.manifest.id = id;
    result.manifest.signature = now_signature;
    result.manifest.tokens = tokens;
    result.manifest.bytes = tokens * 1024;
    result.manifest.created = store::wall_time{} + std::chrono::milliseconds(saved_at);
    result.manifest.slot = slot;
    result.file_name = id + ".kv";
    return result;
}

/// "id->slot " for each step.
inline std::string steps_of(const keeper::restore_plan& plan) {
    std::string text;
    for (const auto& step : plan.steps) {
        text += step.snapshot.manifest.id + "->" + std::to_string(step.slot) + " ";
    }
    return text;
}

} // namespace hibernate::test

#pragma once
// What `store ls` prints: pure, over an inventory.

#include <cstdint>
#include <filesystem>
#include <string>

#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/manifest.hpp"

namespace hibernate::commands {

/// A line for each snapshot, by model and the latest first, and one line for all the rest. Names
/// are made harmless for a terminal.
std::string list_as_table(
    const store::inventory& stored,
    const std::filesystem::path& root,
    std::uint64_t max_disk,
    store::wall_time now);

/// The same and more for programs: one object, whose "snapshots" is an array. Times are RFC 3339 in
/// UTC, sizes bytes.
std::string list_as_json(
    const store::inventory& stored, const std::filesystem::path& root, std::uint64_t max_disk);

/// "ready", "ready, pinned", "superseded", "quarantined: ...", "broken: ...": of what has an id.
std::string describe_state(const store::stored_item& item, const std::string& superseded_by);

/// "35 s", "12 min", "5 h", "3 d": how long ago, rounded down. The clock may have been set back.
std::string format_age(store::wall_time then, store::wall_time now);

} // namespace hibernate::commands

#pragma once
// Garbage collection by hand (`llama-hibernate store gc`): what can never be restored goes, and
// then what the bound demands, in the order of eviction. Where a daemon runs nothing is removed: it
// keeps the bound itself, and knows what it uses.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::store {

struct collection {
    struct removal {
        std::string what; ///< "snapshot 0123456789abcdef (tiny, 1507 tokens, 2.97 MiB)"
        std::string reason;
    };
    std::vector<removal> removed;      ///< with a dry run: what would be
    std::vector<std::string> problems; ///< clauses on what could not be removed
    std::uint64_t freed_bytes = 0;
    std::uint64_t left_bytes = 0;
    /// Models' directories that a daemon uses, or where nothing can be changed.
    std::set<std::string> left_alone;
    bool enough = false; ///< what is left is within the bound
};

/// max_disk in bytes, of everything under the root.
collection collect_garbage(
    disk& disk, const std::filesystem::path& root, std::uint64_t max_disk, bool dry_run);

} // namespace hibernate::store

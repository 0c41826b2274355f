#pragma once
// What an inventory of the store tells of one model's snapshots: pure.

#include <filesystem>
#include <string>

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/store/eviction.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::admin {

/// directory is the name of the model's. Its snapshots come in the order in which they were saved,
/// the latest first.
store_view describe_store(
    const store::inventory& stored,
    const std::filesystem::path& root,
    const std::string& directory,
    const store::disk_bound& bound,
    wall_time seen);

} // namespace hibernate::admin

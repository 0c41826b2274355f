#pragma once
// Verifies snapshots one after the other, with a progress bar on a terminal.

#include <filesystem>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/commands/store_command.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::commands {

/// A line for each. False if any failed; one that went meanwhile has not.
bool verify_items(
    disk& disk,
    const std::filesystem::path& root,
    const std::vector<const store::stored_item*>& items,
    const console& console);

} // namespace hibernate::commands

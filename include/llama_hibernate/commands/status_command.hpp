#pragma once
// `llama-hibernate status ...`: shows what a daemon does, or what is left of one on disk; there
// root acts as the store's owner.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/commands/status_report.hpp"
#include "llama_hibernate/commands/store_command.hpp"
#include "llama_hibernate/store/eviction.hpp"

namespace hibernate::commands {

struct status_settings {
    std::filesystem::path root;
    store::disk_bound bound;
    std::string api_key; ///< LLAMA_API_KEY; or empty
    report_style style;
};

/// Returns the status to exit with: 0; 1 if what answers is no llama-hibernate, wants another key,
/// or there is no such model's folder; 2 for a line that is not understood; 3 if nothing answers.
int run_status_command(
    const std::vector<std::string>& arguments,
    const status_settings& settings,
    disk& disk,
    const console& console);

} // namespace hibernate::commands

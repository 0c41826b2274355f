#pragma once
// `llama-hibernate store ...`: looks after the saved conversations. Nothing here needs that a
// daemon runs or that none does. What is read is read without locks; what is changed is changed as
// snapshot_changes.hpp says, and gc keeps out of directories that a daemon uses. Root acts as the
// store's owner.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/commands/store_place.hpp"

namespace hibernate::commands {

struct store_settings {
    std::filesystem::path root;
    bool root_is_named = false; ///< by an option, a variable or the configuration file
    std::uint64_t max_disk = 0; ///< bytes: the daemon's bound
    std::filesystem::path service_root = service_store;
};

/// Where the answers go.
struct console {
    std::ostream& out;
    std::ostream& complaints;
    /// Of the terminal that complaints go to, where progress is shown; 0: it is none.
    std::size_t columns = 0;
};

/// Returns the status to exit with: 0; 1 if something failed, or a snapshot did not pass verify; 2
/// for a line that is not understood.
int run_store_command(
    const std::vector<std::string>& arguments,
    const store_settings& settings,
    disk& disk,
    const console& console);

} // namespace hibernate::commands

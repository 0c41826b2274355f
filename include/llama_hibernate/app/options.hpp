#pragma once
// Our own options: command line (--hibernate-NAME) over environment (LLAMA_HIBERNATE_NAME) over
// configuration file (NAME) over default. One table (option_table.cpp) holds them all.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/keeper/boundary.hpp"
#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

enum class mode {
    run,                 ///< serve
    help,                ///< print our help and exit 0
    version,             ///< print our version and exit 0
    store,               ///< look after the store (commands/store_command.hpp)
    status,              ///< show what a daemon does (commands/status_command.hpp)
    print_configuration, ///< print what is set and exit 0
};

/// --hibernate-restore
enum class restore_extent { all, slots, none };

/// A value of an option as it was given, and where.
struct setting {
    std::string_view name; ///< of the option, without its prefix
    std::string value;
    std::string source; ///< "default", "file /etc/...", "environment LLAMA_HIBERNATE_..." or
                        ///< "command line"
};

struct options {
    app::mode mode = app::mode::run;

    std::filesystem::path root; ///< --hibernate-dir, absolute; empty: nothing names a place
    bool root_is_named = false; ///< it was set, and is no default
    std::string name;           ///< --hibernate-name
    std::string server; ///< --hibernate-server, or SERVER; a name or a path, empty: look for it
    std::uint64_t max_disk = std::uint64_t{16} << 30; ///< bytes of everything under the root
    std::uint64_t min_free = std::uint64_t{2} << 30;  ///< bytes that a save leaves on the disk
    std::chrono::milliseconds stop_budget{8'000};
    std::chrono::milliseconds drain{1'000};
    restore_extent restore = restore_extent::all;
    keeper::boundary_choice boundary = keeper::boundary_choice::automatic;
    std::filesystem::path adopt;                 ///< --hibernate-adopt; empty: nothing is adopted
    std::optional<std::uint64_t> restore_memory; ///< bytes; none: what the machine can give
    std::chrono::milliseconds idle_save{3'000};  ///< 0: no idle saves
    std::uint64_t min_tokens = 256;
    std::uint64_t write_budget = 0; ///< bytes a day of idle saves; 0: no bound
    std::chrono::milliseconds restore_budget{10'000};
    std::chrono::milliseconds health_hold{4'000};
    bool internal_socket = false; ///< --hibernate-internal tcp|unix
    std::size_t max_connections = 1024;
    bool any_build = false;        ///< --hibernate-compat build|format
    bool half_close_keeps = false; ///< --hibernate-half-close abort|keep
    bool restart_on_exit = false;  ///< --hibernate-on-exit exit|restart
    log::level log_level = log::level::info;
    log::format log_format = log::format::text;

    std::vector<std::string> server_arguments; ///< everything that is not ours, in order
    /// Of mode::store and mode::status: the same, after that word.
    std::vector<std::string> command_arguments;

    std::vector<setting> settings; ///< one for each option, in the table's order

    /// Sentences for the log: what the user set and nobody reads (a misspelled variable of ours).
    std::vector<std::string> remarks;
};

inline constexpr std::string_view system_configuration_file = "/etc/llama-hibernate/config.json";

/// arguments are those after argv[0]. Throws startup_error (status 2) with one sentence: which
/// option, what was read, what is allowed; for an unknown option, the nearest right name.
///
/// The configuration file is the one that was named (--hibernate-config or its variable), else the
/// user's own (in $XDG_CONFIG_HOME or ~/.config), else system_file. One that was named and is not
/// there is an error, and so is any that cannot be read.
options read_options(
    const std::vector<std::string>& arguments,
    const llama::environment_map& environment,
    const std::filesystem::path& system_file = system_configuration_file);

/// The settings as a table for people.
std::string configuration_text(const options& from);

/// The text of --help: usage, every option with its default, environment and file names.
std::string help_text();

} // namespace hibernate::app

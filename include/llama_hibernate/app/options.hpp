#pragma once
// Our own options: command line (--hibernate-NAME) over environment (LLAMA_HIBERNATE_NAME) over
// configuration file (NAME) over default. One table in options.cpp holds them all.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

enum class mode {
    run,     ///< serve
    help,    ///< print our help and exit 0
    version, ///< print our version and exit 0
};

struct options {
    app::mode mode = app::mode::run;

    std::filesystem::path root; ///< --hibernate-dir
    std::string name;           ///< --hibernate-name
    std::string server;         ///< --hibernate-server, or SERVER; a name or a path, empty: look for it
    std::chrono::milliseconds stop_budget{8'000};
    std::chrono::milliseconds drain{1'000};
    bool restore = true; ///< --hibernate-restore slots|none
    std::chrono::milliseconds restore_budget{10'000};
    std::chrono::milliseconds health_hold{4'000};
    std::size_t max_connections = 1024;
    bool half_close_keeps = false; ///< --hibernate-half-close abort|keep
    bool restart_on_exit = false;  ///< --hibernate-on-exit exit|restart
    log::level log_level = log::level::info;

    std::vector<std::string> server_arguments; ///< everything that is not ours, in order
};

/// arguments are those after argv[0]. Throws startup_error (status 2) with one sentence: which
/// option, what was read, what is allowed; for an unknown option, the nearest right name. A
/// configuration file that was named and cannot be read is an error, a default one that is not there
/// is none.
options read_options(
    const std::vector<std::string>& arguments, const llama::environment_map& environment);

/// The text of --help: usage, every option with its default, environment and file names.
std::string help_text();

} // namespace hibernate::app

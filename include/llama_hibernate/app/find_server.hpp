#pragma once
// Which llama-server to start.

#include <string>

#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

/// The path of the program: `wanted` (a name is looked for on PATH), or when that is empty a
/// llama-server beside our own binary, else the one on PATH. Our own binary is what we were called
/// (argv[0]) where the system does not tell its path. Throws startup_error (127) when there is
/// none.
std::string find_server(
    const std::string& wanted,
    const std::string& called,
    const llama::environment_map& environment);

} // namespace hibernate::app

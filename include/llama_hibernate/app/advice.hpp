#pragma once
// What llama-server's flags mean for saved conversations, where a user may not expect it: pure.

#include <string>
#include <vector>

#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

struct advice {
    bool keep = true;               ///< whether there is anything to save and restore
    std::vector<std::string> lines; ///< for the log, as warnings
};

advice advise(const llama::server_args& args);

} // namespace hibernate::app

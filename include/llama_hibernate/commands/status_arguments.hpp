#pragma once
// The command line of `llama-hibernate status`, after that word and without our --hibernate-*
// options.

#include <optional>
#include <string>
#include <vector>

namespace hibernate::commands {

struct status_request {
    std::string url;             ///< as given, or the default
    std::string model_directory; ///< --model-dir: no daemon is asked; a path or a name in the store
    std::string api_key;
    bool json = false;
};

/// A request, or the text that answers the line: help, or what is wrong with it.
struct status_reading {
    std::optional<status_request> request;
    std::string text;
    int status = 0; ///< to exit with when there is no request; of help it is 0
};

status_reading read_status_arguments(const std::vector<std::string>& arguments);

} // namespace hibernate::commands

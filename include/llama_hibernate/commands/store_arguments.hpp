#pragma once
// The command line of `llama-hibernate store`, after that word and without our --hibernate-*
// options.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hibernate::commands {

struct store_request {
    enum class verb { list, show, verify, collect, remove, pin, unpin, release };
    verb what = verb::list;
    std::vector<std::string> ids; ///< as given: "0123", "0123456789abcdef", "tiny-0a1b2c3d/0123"
    std::string model;            ///< rm --model
    bool all = false;             ///< rm --all
    bool json = false;            ///< ls --json
    bool dry_run = false;         ///< gc --dry-run
    std::optional<std::uint64_t> max_disk; ///< gc --max-disk, in bytes
};

/// A request, or the text that answers the line: help, or what is wrong with it.
struct store_reading {
    std::optional<store_request> request;
    std::string text;
    int status = 0; ///< to exit with when there is no request; of help it is 0
};

store_reading read_store_arguments(const std::vector<std::string>& arguments);

} // namespace hibernate::commands

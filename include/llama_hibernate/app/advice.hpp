#pragma once
// What llama-server's flags mean for saved conversations, where a user may not expect it: pure.

#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

/// How each sentence begins that says why.
inline constexpr std::string_view nothing_is_kept =
    "conversations are served, but neither saved nor restored: ";

struct advice {
    bool keep = true;               ///< whether there is anything to save and restore
    std::vector<std::string> lines; ///< for the log, as warnings; the one says why not
};

advice advise(const llama::server_args& args);

/// Why nothing is kept in the model's folder, and what to do about it; refusal is the system's, or
/// empty when another daemon uses it.
std::string
advise_on_folder(const std::string& folder, const std::string& refusal, bool is_slot_save_path);

} // namespace hibernate::app

#pragma once
// Whose store it is that a command works on, and whether it is the one that was meant.

#include <filesystem>
#include <string>

namespace hibernate::commands {

/// Where the systemd service of the package keeps its conversations.
inline constexpr const char* service_store = "/var/cache/llama-hibernate";

/// To be called before anything in the store is touched: root acts as the store's owner, so that
/// what is written is the owner's. Returns a sentence if that is not possible; empty if all is
/// well.
std::string act_as_owner_of_store(const std::filesystem::path& root);

struct place_question {
    std::filesystem::path root;
    bool is_named = false; ///< by an option, a variable or the configuration file
    bool has_any = false;  ///< it holds something of ours
    std::filesystem::path service_root;
    bool service_root_exists = false;
};

/// A sentence for whoever looks into a store of their own, and finds nothing, beside a service that
/// has one, too; or empty. Pure.
std::string hint_at_service(const place_question& asked);

} // namespace hibernate::commands

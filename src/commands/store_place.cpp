#include "llama_hibernate/commands/store_place.hpp"

#include <fmt/core.h>

#include "llama_hibernate/base/directory_owner.hpp"

namespace hibernate::commands {

std::string act_as_owner_of_store(const std::filesystem::path& root) {
    const auto failed = act_as_owner_of(root);
    return failed ? fmt::format(
                        "{} belongs to another user, as whom root cannot act here ({}); run this "
                        "as that user, so that what is written there stays readable for it",
                        root.string(), failed.message())
                  : std::string();
}

std::string hint_at_service(const place_question& asked) {
    const bool is_wanted = !asked.is_named && !asked.has_any && asked.service_root_exists &&
                           asked.root != asked.service_root;
    return is_wanted ? fmt::format(
                           "the systemd service keeps its conversations in {0}; to see them: sudo "
                           "llama-hibernate store --hibernate-dir {0} ls",
                           asked.service_root.string())
                     : std::string();
}

} // namespace hibernate::commands

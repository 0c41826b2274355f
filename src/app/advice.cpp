#include "llama_hibernate/app/advice.hpp"

#include <fmt/format.h>

namespace hibernate::app {

std::string
advise_on_folder(const std::string& folder, const std::string& refusal, bool is_slot_save_path) {
    if (refusal.empty()) {
        return fmt::format(
            "{}another llama-hibernate of this model runs, and uses {}; with a --hibernate-name of "
            "its own this one would keep its conversations, too",
            nothing_is_kept, folder);
    }
    return fmt::format(
        "{}{}: {}; make it writable, or give another place with {}", nothing_is_kept, folder,
        refusal, is_slot_save_path ? "--slot-save-path" : "--hibernate-dir");
}

advice advise(const llama::server_args& args) {
    const std::string served(nothing_is_kept);
    if (args.model.empty()) {
        return {false, {served + "no model is named, so llama-server is a router"}};
    }
    if (args.no_conversations) {
        return {
            false,
            {"requests are served, and nothing is saved or restored: with --embedding or --rerank "
             "there is no conversation"}};
    }
    if (args.own_disk_cache) {
        return {
            false,
            {served + "llama-server has a disk cache of its own (--cache-disk, --cache-dir), "
                      "which does that"}};
    }
    advice given;
    if (!args.cache_prompt) {
        given.lines.push_back("with --no-cache-prompt llama-server reuses nothing of what is "
                              "restored");
    }
    return given;
}

} // namespace hibernate::app

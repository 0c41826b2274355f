#include "llama_hibernate/app/advice.hpp"

namespace hibernate::app {

advice advise(const llama::server_args& args) {
    constexpr const char* served = "requests are served, and nothing is saved or restored: ";
    if (args.model.empty()) {
        return {false, {std::string(served) + "no model is named, so llama-server is a router"}};
    }
    if (args.no_conversations) {
        return {
            false, {std::string(served) + "with --embedding or --rerank there is no conversation"}};
    }
    if (args.own_disk_cache) {
        return {
            false,
            {std::string(served) + "llama-server has a disk cache of its own (--cache-disk, "
                                   "--cache-dir), which does that"}};
    }
    advice given;
    if (!args.cache_prompt) {
        given.lines.push_back("with --no-cache-prompt llama-server reuses nothing of what is "
                              "restored");
    }
    return given;
}

} // namespace hibernate::app

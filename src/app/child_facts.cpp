#include "llama_hibernate/app/child_facts.hpp"

#include <filesystem>

namespace hibernate::app {

child_facts describe_child(
    const llama::server_args& args, const llama::properties& props, std::string model_identity) {
    child_facts facts;
    facts.total_slots = props.total_slots;
    facts.context_size = props.context_size;
    facts.model_name = std::filesystem::path(props.model_path).filename().string();

    auto& parts = facts.signature.parts;
    parts = args.state_options;
    parts["model"] = std::move(model_identity);
    parts["build"] = props.build;
    parts["streams"] = std::to_string(args.stream_count(props.total_slots));
    return facts;
}

} // namespace hibernate::app

#include "llama_hibernate/app/child_facts.hpp"

#include <filesystem>
#include <vector>

#include <fmt/core.h>

#include "llama_hibernate/llama/model_identity.hpp"

namespace hibernate::app {

namespace {

/// Content in place of names: "<identity>,<identity>:0.5" for each option that names files.
void replace_names(
    std::map<std::string, std::string>& parts,
    const std::vector<llama::state_file>& files,
    const file_identities& identities) {
    for (const auto& file : files) {
        parts[file.option].clear();
    }
    for (const auto& file : files) {
        const auto known = identities.by_path.find(file.path);
        auto& part = parts[file.option];
        part += fmt::format(
            "{}{}{}{}", part.empty() ? "" : ",",
            known == identities.by_path.end() ? file.path : known->second,
            file.scale.empty() ? "" : ":", file.scale);
    }
}

} // namespace

file_identities
identify_files(disk& disk, const llama::server_args& args, const llama::properties& props) {
    std::vector<std::string> paths{props.model_path};
    for (const auto& file : args.state_files) {
        paths.push_back(file.path);
    }
    file_identities identities;
    for (const auto& path : paths) {
        const auto identity = llama::identify_model(disk, path);
        if (!identity) {
            identities.problem =
                fmt::format("{} cannot be read: {}", path, identity.error().message());
            break;
        }
        identities.by_path[path] = *identity;
    }
    return identities;
}

child_facts describe_child(
    const llama::server_args& args,
    const llama::properties& props,
    const file_identities& identities) {
    child_facts facts;
    facts.total_slots = props.total_slots;
    facts.context_size = props.context_size;
    facts.model_name = std::filesystem::path(props.model_path).filename().string();
    if (!props.model_path.empty()) {
        // The child has our working directory.
        std::error_code ignored;
        facts.model_path = std::filesystem::absolute(props.model_path, ignored).string();
    }

    auto& parts = facts.signature.parts;
    parts = args.state_options;
    replace_names(parts, args.state_files, identities);
    replace_names(parts, {{"model", props.model_path, {}}}, identities);
    parts[store::build_part] = props.build;
    parts["streams"] = std::to_string(args.stream_count(props.total_slots));
    return facts;
}

void accept_any_build(child_facts& facts, std::uint32_t state_version) {
    facts.signature.parts.erase(store::build_part);
    facts.signature.parts[store::state_version_part] = std::to_string(state_version);
}

} // namespace hibernate::app

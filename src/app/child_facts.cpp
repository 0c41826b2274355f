#include "llama_hibernate/app/child_facts.hpp"

#include <filesystem>
#include <vector>

#include <fmt/core.h>

#include "llama_hibernate/llama/gguf.hpp"
#include "llama_hibernate/llama/model_identity.hpp"
#include "llama_hibernate/llama/state_size.hpp"

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

void read_header(
    disk& disk,
    const llama::server_args& args,
    const std::string& model_path,
    file_identities& identities) {
    const auto gguf =
        llama::read_gguf(disk, llama::follow_links(llama::shards_of(model_path).front()));
    if (!gguf || !gguf->header) {
        return;
    }
    const auto option = [&args](const char* name) {
        const auto found = args.state_options.find(name);
        return found == args.state_options.end() ? std::string() : found->second;
    };
    const auto& header = *gguf->header;
    identities.bytes_per_token =
        llama::bytes_per_token(header, option("cache-type-k"), option("cache-type-v"));
    identities.memory = llama::context_memory_of(header);
}

} // namespace

file_versions note_versions(disk& disk, const llama::server_args& args) {
    file_versions versions;
    const auto note = [&](const std::string& path) {
        for (const auto& shard : llama::shards_of(path)) {
            if (auto version = disk.version(shard)) {
                versions[shard.string()] = std::move(*version);
            }
        }
    };
    if (!args.model_path.empty()) {
        note(args.model_path);
    }
    for (const auto& file : args.state_files) {
        note(file.path);
    }
    return versions;
}

file_identities identify_files(
    disk& disk,
    const llama::server_args& args,
    const llama::properties& props,
    const file_versions& before) {
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
    const auto now = note_versions(disk, args);
    for (const auto& [path, version] : before) {
        const auto found = now.find(path);
        if (found == now.end() || found->second != version) {
            identities.problem = fmt::format(
                "{} was replaced while llama-server loaded it; the next start knows it", path);
        }
    }
    if (identities.problem.empty()) {
        read_header(disk, args, props.model_path, identities);
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
    facts.bytes_per_token = identities.bytes_per_token;
    facts.memory = identities.memory;
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
    facts.build = props.build;
    parts[store::build_part] = props.build;
    parts["streams"] = std::to_string(args.stream_count(props.total_slots));
    return facts;
}

void accept_any_build(child_facts& facts, std::uint32_t state_version) {
    facts.signature.parts.erase(store::build_part);
    facts.signature.parts[store::state_version_part] = std::to_string(state_version);
}

} // namespace hibernate::app

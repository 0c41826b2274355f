#pragma once
// What is known of the child once it answers: enough to say which snapshots are for it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/context_memory.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/llama/types.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::app {

struct child_facts {
    int total_slots = 0;
    std::uint64_t context_size = 0; ///< tokens of one slot; 0: not known
    std::string model_name;         ///< for people: the model's file name
    std::string model_path;         ///< absolute; empty if the child does not say
    std::string build;              ///< likewise: "b11669-Debian"
    /// Of a slot's state, as its model's header tells: see llama::bytes_per_token.
    std::optional<std::uint64_t> bytes_per_token;
    llama::context_memory memory = llama::context_memory::everything;
    bool uses_draft_model = false; ///< so far as it says: then its state is part of a slot
    store::signature signature;
};

/// disk::version's of the files that the child is about to load, as far as the arguments name them,
/// by path; none of one that cannot be read. Blocks.
using file_versions = std::map<std::string, std::string>;
file_versions note_versions(disk& disk, const llama::server_args& args);

/// llama::identify_model's of every file whose content counts, by path; or the first that cannot be
/// read and why, as a clause.
struct file_identities {
    std::map<std::string, std::string> by_path;
    std::string problem;
    std::optional<std::uint64_t> bytes_per_token; ///< of the model's state
    llama::context_memory memory = llama::context_memory::everything;
};
/// Those of the model that the child has loaded and of the files that its arguments name. before
/// are the versions from before it loaded them: if one was replaced since, it is not known what the
/// child has loaded, and that is a problem. Blocks.
file_identities identify_files(
    disk& disk,
    const llama::server_args& args,
    const llama::properties& props,
    const file_versions& before);

/// The signature holds all that the start has to have in common with that of a snapshot. What the
/// child downloads by itself for a draft or a projector is known by its name only.
child_facts describe_child(
    const llama::server_args& args,
    const llama::properties& props,
    const file_identities& identities);

/// Snapshots of other builds will do as well, if their files have this version.
void accept_any_build(child_facts& facts, std::uint32_t state_version);

} // namespace hibernate::app

#pragma once
// What is known of the child once it answers: enough to say which snapshots are for it.

#include <cstdint>
#include <map>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/llama/types.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::app {

struct child_facts {
    int total_slots = 0;
    std::uint64_t context_size = 0; ///< tokens of one slot; 0: not known
    std::string model_name;         ///< for people: the model's file name
    std::string model_path;         ///< absolute; empty if the child does not say
    store::signature signature;
};

/// llama::identify_model's of every file whose content counts, by path; or the first that cannot be
/// read and why, as a clause.
struct file_identities {
    std::map<std::string, std::string> by_path;
    std::string problem;
};
/// Those of the model that the child has loaded and of the files that its arguments name. Blocks.
file_identities
identify_files(disk& disk, const llama::server_args& args, const llama::properties& props);

/// The signature holds all that the start has to have in common with that of a snapshot. What the
/// child downloads by itself for a draft or a projector is known by its name only.
child_facts describe_child(
    const llama::server_args& args,
    const llama::properties& props,
    const file_identities& identities);

/// Snapshots of other builds will do as well, if their files have this version.
void accept_any_build(child_facts& facts, std::uint32_t state_version);

} // namespace hibernate::app

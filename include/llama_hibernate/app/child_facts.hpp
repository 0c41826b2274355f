#pragma once
// What is known of the child once it answers: enough to say which snapshots are for it.

#include <string>

#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/llama/types.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::app {

struct child_facts {
    int total_slots = 0;
    std::uint64_t context_size = 0; ///< tokens of one slot; 0: not known
    std::string model_name;         ///< for people: the model's file name
    store::signature signature;
};

/// model_identity is llama::identify_model's of the file that the child has loaded.
child_facts describe_child(
    const llama::server_args& args, const llama::properties& props, std::string model_identity);

} // namespace hibernate::app

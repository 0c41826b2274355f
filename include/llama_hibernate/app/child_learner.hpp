#pragma once
// Learns what the child is, as soon as it answers: without that nothing can be saved or restored.

#include <functional>
#include <optional>
#include <string>

#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

struct child_learner {
    llama::client& client;
    disk_thread& thread;
    hibernate::disk& disk;
    store::model_directory& directory;
    const llama::server_args& args;
    const file_versions& versions; ///< from before the child loaded its files
    bool any_build = false;        ///< --hibernate-compat format
    std::string problem = {};      ///< of learn(): the sentence that is in the log, or empty

    /// Nothing, and a log line that says why, if it cannot be learned; nothing without a word if
    /// abandoned() says so.
    awaitable<std::optional<child_facts>> learn(std::function<bool()> abandoned);
};

} // namespace hibernate::app

#pragma once
// llama-server's arguments, as far as we must read them: exact known names and their LLAMA_ARG_*
// twins, all in one table (server_args.cpp). The command line wins over the environment, the last
// of repeated arguments over the earlier ones. The arity of an argument that is not in the table is
// never guessed: it is passed on, byte for byte and in order.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hibernate::llama {

/// "NAME" -> "value"; a copy of the environment, so that tests need no real one.
using environment_map = std::map<std::string, std::string>;

/// A file that changes what a saved slot means: an adapter, a projector, a draft model.
struct state_file {
    std::string option; ///< its key in state_options
    std::string path;   ///< as given
    std::string scale;  ///< of a scaled adapter, one spelling for each number; else empty

    friend bool operator==(const state_file&, const state_file&) = default;
};

struct server_args {
    // What we take over from llama-server; empty or none where the user said nothing.
    std::vector<std::string> hosts; ///< --host, split at commas
    std::optional<int>
        port; ///< 0: any that is free; a preset (--gpt-oss-20b-default) sets one, too
    bool reuse_port = false;
    std::string ssl_key_file;
    std::string ssl_cert_file;
    std::string slot_save_path;

    // What we must know for our own calls.
    std::vector<std::string>
        api_keys; ///< --api-key and the lines of --api-key-file, all that count
    /// What stands before every path, as given: "" or "/foo". After "/foo/" llama-server serves
    /// "/foo//health", so it is not tidied up.
    std::string api_prefix;

    /// The model as the user named it (-m, -hf, -mu, -dr, --gpt-oss-20b-default ...); empty: none,
    /// which makes llama-server a router.
    std::string model;
    std::string model_path;        ///< the same when it was named by a path (-m), else empty
    bool prints_and_exits = false; ///< --help, --version, --list-devices ...

    std::optional<int> parallel; ///< -np; none when automatic (absent or negative)
    std::optional<int>
        threads_http;        ///< --threads-http; none when automatic (absent or not positive)
    bool kv_unified = false; ///< --kv-unified, or implied by an automatic -np

    /// --cache-ram in bytes, of prompts that are in no slot (8 GiB by default): 0: none, no value:
    /// no limit.
    std::optional<std::uint64_t> ram_cache = std::uint64_t{8} << 30;
    bool cache_idle_slots = true; ///< --cache-idle-slots

    /// After so much idleness the child forgets its slots and its RAM cache; none: never.
    std::optional<std::chrono::seconds> sleep_after;

    bool cache_prompt = true;      ///< --no-cache-prompt: what a slot holds is not reused
    bool no_conversations = false; ///< --embedding, --rerank: slots are empty after each request
    bool own_disk_cache = false;   ///< --cache-disk or --cache-dir, which some builds have

    /// Whether a slot is emptied into the RAM cache as soon as another one gets a task, as
    /// llama-server does by default.
    bool empties_idle_slots() const { return cache_idle_slots && ram_cache != 0 && kv_unified; }

    /// Everything that changes what a saved slot means, by its canonical name without dashes
    /// ("cache-type-k" -> "q8_0", "lora" -> "a.gguf"), files by name. Spellings that llama-server
    /// treats alike are one, and a value that is llama-server's default is left out.
    std::map<std::string, std::string> state_options;

    /// The files that those options name, in the order in which they were given.
    std::vector<state_file> state_files;

    /// All of the user's arguments without the ones that we own for the child (--host, --port,
    /// --slot-save-path, --ssl-*, --reuse-port); ours are appended by child_arguments().
    std::vector<std::string> passed_on;

    /// How many threads for connections llama-server surely has, on a machine with so many
    /// processors: some of its versions have more.
    int connection_threads(int processors) const;

    /// 1 when one slot or unified, else the slot count: files with another count are refused.
    int stream_count(int total_slots) const;
};

/// Throws startup_error for a value that we need and cannot read (a port that is no number, a key
/// file that cannot be read, a last argument without its value). Reads the key files.
server_args
read_server_args(const std::vector<std::string>& arguments, const environment_map& environment);

/// The child's arguments: passed_on, then --host HOST (an address or a path that ends in ".sock"),
/// --port N unless it is 0, and --slot-save-path DIR unless it is empty.
std::vector<std::string> child_arguments(
    const server_args& args,
    const std::string& host,
    std::uint16_t port,
    const std::string& slot_save_path);

/// The child's environment: ours without LLAMA_HIBERNATE_*, without the LLAMA_ARG_* twins of what
/// we own, and without what is between us and whoever started us: a router's LLAMA_SERVER_* and a
/// service manager's NOTIFY_SOCKET, WATCHDOG_* and LISTEN_*; as "NAME=value".
std::vector<std::string> child_environment(const environment_map& environment);

} // namespace hibernate::llama

#pragma once
// What the scripted llama-server was told: llama-server's own arguments (and their environment
// twins), as far as they change what a client sees, and the script (FAKE_* variables, described in
// fake_llama_server.cpp). Arguments that it does not know are ignored.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fake {

using milliseconds = std::chrono::milliseconds;

struct settings {
    std::vector<std::string> hosts{"127.0.0.1"};
    int port = 9931;
    std::string model;
    std::string alias;
    int parallel = -1; ///< -np; below 1 it is automatic: four slots, unified
    bool kv_unified_given = false;
    int context = 4096; ///< -c; divided among the slots unless they are unified
    std::string slot_save_path;
    bool slots_endpoint = true;
    std::vector<std::string> api_keys;
    std::string api_prefix;
    int cache_ram = 8192;
    bool cache_idle_slots = true;
    int sleep_idle_seconds = -1;
    bool prints_and_exits = false;

    milliseconds load{0};
    milliseconds save{0};
    milliseconds restore{0};
    milliseconds prefill{0};
    milliseconds token{0};
    milliseconds keep_alive{5'000};
    std::size_t tokens = 16; ///< generated when a request sets no limit
    std::size_t bytes_per_token = 64;
    std::uint32_t state_version = 4;
    int weights = 0;
    std::string build = "b11669-fake";
    bool hybrid = false;
    bool useless_restores = false;
    int lost_tokens = 0;   ///< at the end of what is restored
    int fail_restores = 0; ///< how many still fail; negative: all of them
    std::string harm;
    int fail_saves = 0;
    int unsupported_saves = 0;
    std::string crash_on;
    int crash_signal = 6;
    int exit_code = -1; ///< if set, a crash is an exit with this code
    bool ignore_sigint = false;
    bool close_output = false;
    bool quiet = false;
    std::string environment_dump;
    std::string log;

    int slot_count() const noexcept { return parallel < 1 ? 4 : parallel; }
    bool unified() const noexcept { return parallel < 1 || kv_unified_given; }
    int slot_context() const noexcept { return unified() ? context : context / slot_count(); }
    /// As a state file counts them.
    std::uint32_t stream_count() const noexcept {
        return unified() || slot_count() == 1 ? 1U : static_cast<std::uint32_t>(slot_count());
    }
};

struct bad_argument : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws bad_argument.
settings read_settings(const std::vector<std::string>& arguments);

/// Writes how this process was started, as JSON: argv, environment, open descriptors with what they
/// are, session, process group, blocked and ignored signals, death signal. The file appears whole.
void dump_environment(const std::string& file, const std::vector<std::string>& argv);

} // namespace fake

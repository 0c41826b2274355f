#pragma once
// What llama-server's endpoints say, as far as we use it.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hibernate::llama {

using token = std::int32_t;

/// What llama-server writes for each position of an image or a recording.
constexpr token media_token = -1;

/// From GET /props.
struct properties {
    int total_slots = 0;
    std::uint64_t context_size = 0; ///< tokens of one slot (default_generation_settings.n_ctx)
    std::string model_path;
    std::string build; ///< build_info, such as "b11669-Debian"
    bool is_sleeping = false;
};

/// From GET /slots.
struct slot {
    int id = 0;
    int context_size = 0; ///< n_ctx, in tokens
    bool is_processing = false;
    /// Tokens in the slot now; none for a slot that never ran a task since the child started
    /// (llama-server shows no count for it, not even after a restore).
    std::optional<std::uint64_t> tokens;
    std::int64_t task = -1;   ///< id_task: the last that ran in it; -1: none yet
    bool speculative = false; ///< tokens are drafted, by another model or from the text so far
};

/// From POST /slots/{id}?action=save. An empty slot answers 200 with tokens 0.
struct saved {
    std::uint64_t tokens = 0; ///< n_saved
    std::uint64_t bytes = 0;  ///< n_written: the size of the file
    std::chrono::microseconds time{0};
};

/// From POST /slots/{id}?action=restore.
struct restored {
    std::uint64_t tokens = 0; ///< n_restored
    std::uint64_t bytes = 0;  ///< n_read
    std::chrono::microseconds time{0};
};

/// What a model says that comes next, from POST /completion with n_probs.
struct next_token {
    std::uint64_t reused = 0; ///< tokens of the prompt that were in the slot
    /// Natural logarithms, of the most probable tokens.
    std::map<token, double> log_probabilities;
};

/// Why a call to llama-server brought no answer that we can use.
struct call_failure {
    unsigned status = 0; ///< HTTP status, or 0 when there was none (no connection, no time)
    std::string message; ///< llama-server's own words, or the system's
};

} // namespace hibernate::llama

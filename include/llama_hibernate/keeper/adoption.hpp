#pragma once
// Which slot files of somebody else's may be taken for snapshots of this child: pure.
//
// Such a file (N.bin of llama-save-wrapper, or of whoever called llama-server's slot action) does
// not say which model wrote it, nor under which arguments, and llama-server restores that of
// another model of the same shape without a word. So the child is asked twice what comes after the
// file's first tokens: once computed by itself, and once with the file's state in the slot. The two
// agree if the state is what the child would have made of these tokens, up to how it rounds.
//
// llama-server can abort on a file that is cut off, so none is offered to it that has another
// length than it would write for so many tokens, which two saves of its own tell.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llama_hibernate/llama/context_memory.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::keeper {

/// "0.bin", "12.bin": digits, as many as a slot's number may have.
bool is_adoptable_name(std::string_view name);

/// What a file has to fit into.
struct adoption_limits {
    std::uint64_t min_tokens = 0;
    std::uint64_t context_size = 0; ///< of a slot; 0: not known
    std::optional<std::uint64_t> vocabulary_size;
};

/// Why a file that begins like that is none for this child, as a clause; empty: it may be one.
std::string why_unfit(const llama::state_file_head& head, const adoption_limits& limits);

/// Why no file of such a model can be checked, as a clause; empty: it can. What such a model
/// remembers cannot be cut to the first tokens, so there is nothing to compare.
std::string why_uncheckable(llama::context_memory memory);

/// With how many of its first tokens a file of so many is checked.
std::size_t probe_length(std::size_t tokens);

/// A slot's state as the child itself saved it.
struct state_sample {
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0; ///< without the head of the file
};

/// How long a state of this child's is.
struct state_length {
    std::uint64_t fixed_bytes = 0;
    std::uint64_t bytes_per_token = 0;

    std::uint64_t of(std::uint64_t tokens) const noexcept {
        return fixed_bytes + tokens * bytes_per_token;
    }
};

/// From two samples; nothing if their lengths do not grow with their tokens.
std::optional<state_length> measure(const state_sample& shorter, const state_sample& longer);

/// The largest difference between the logarithms of a token's two probabilities that still passes
/// for rounding. Measured on llama-server b11669 (CPU, 64 tokens, some two hundred files): what the
/// same model wrote differs by 0.03 at most with an f16 cache and not at all with q8_0 or q4_0,
/// other weights of the same shape by 2.0 at least, and this model with twice the RoPE base by
/// 0.22.
inline constexpr double most_log_difference = 0.08;

/// That difference. A token that only one of the two answers lists is at most as probable in the
/// other as the last that that one lists.
double log_difference(const llama::next_token& one, const llama::next_token& other);

/// What two answers about the first so many tokens say of the file; the reason is a clause, empty:
/// the child has written it.
std::string why_refused(
    const llama::next_token& computed, const llama::next_token& with_file, std::size_t tokens);

} // namespace hibernate::keeper

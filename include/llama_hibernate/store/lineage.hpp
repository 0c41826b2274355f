#pragma once
// Which snapshots a new one continues, without the tokens of the old ones. A manifest keeps a hash
// of its snapshot's tokens; the new snapshot's tokens are in memory, so the same hash can be made
// of as many of them as the old one had. A thousand old snapshots then cost no more than the
// reading of their manifests.
//
// So that this takes at most 255 tokens for each of them, the hash is a chain:
//
//     link 1      hash of the first 256 tokens, with the seed 0
//     link n      hash of the 256 tokens after those of link n - 1, which is the seed
//     the hash    that of the tokens after the last link, which is the seed; and where a media
//                 position is among all these tokens, the hash of their media
//                 (llama/state_media.hpp) with that as seed
//
// Each is XXH3-64 (base/hash.hpp) of tokens as they lie in memory. Two conversations of a length
// pass for one by chance in one of 2^64 comparisons; against somebody who looks for such a pair it
// defends nothing.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/llama/state_file.hpp"

namespace hibernate::store {

inline constexpr std::size_t tokens_per_link = 256;

/// The links of one snapshot, to compare it with any number of earlier ones.
class token_chain {
public:
    /// Keeps a reference to the head.
    explicit token_chain(const llama::state_file_head& head);
    explicit token_chain(llama::state_file_head&& head) = delete;

    /// Of all tokens, for its manifest: 16 lower-case hex digits.
    std::string hash() const;

    /// What llama::continues() says of this one and an earlier one with so many tokens and that
    /// hash.
    bool continues(std::uint64_t earlier_tokens, std::string_view earlier_hash) const;

private:
    std::string hash_of_first(std::size_t count) const;

    const llama::state_file_head& head_;
    std::vector<std::uint64_t> links_; ///< one for each full 256 tokens
    std::size_t first_media_ = 0;      ///< the position of it, or the number of tokens
};

} // namespace hibernate::store

#include "llama_hibernate/store/lineage.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/core.h>

#include "llama_hibernate/base/hash.hpp"
#include "llama_hibernate/llama/state_media.hpp"

namespace hibernate::store {

namespace {

constexpr llama::token media_position = -1;

} // namespace

token_chain::token_chain(const llama::state_file_head& head) : head_(head) {
    const auto& tokens = head.tokens;
    first_media_ = static_cast<std::size_t>(
        std::distance(tokens.begin(), std::find(tokens.begin(), tokens.end(), media_position)));
    links_.reserve(tokens.size() / tokens_per_link);
    std::uint64_t link = 0;
    for (auto rest = std::span(tokens); rest.size() >= tokens_per_link;
         rest = rest.subspan(tokens_per_link)) {
        link = hash64(std::as_bytes(rest.first(tokens_per_link)), link);
        links_.push_back(link);
    }
}

std::string token_chain::hash() const {
    return hash_of_first(head_.tokens.size());
}

bool token_chain::continues(std::uint64_t earlier_tokens, std::string_view earlier_hash) const {
    return earlier_tokens <= head_.tokens.size() &&
           hash_of_first(static_cast<std::size_t>(earlier_tokens)) == earlier_hash;
}

std::string token_chain::hash_of_first(std::size_t count) const {
    const auto full_links = count / tokens_per_link;
    const auto rest = std::span(head_.tokens).first(count).subspan(full_links * tokens_per_link);
    auto hash = hash64(std::as_bytes(rest), full_links == 0 ? 0 : links_[full_links - 1]);
    if (first_media_ < count) {
        const auto media = llama::media_of_first(head_, count);
        hash = hash64(std::as_bytes(std::span(media)), hash);
    }
    return fmt::format("{:016x}", hash);
}

} // namespace hibernate::store

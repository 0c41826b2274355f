#pragma once
// State files as llama-server writes them, made up: a true head and a body of any bytes.

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "llama_hibernate/llama/types.hpp"

namespace hibernate::test {

inline void append_word(std::string& to, std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
        to += static_cast<char>(word >> shift & 0xff);
    }
}

/// magic, version, n_words, words.
inline std::string state_head(const std::vector<std::uint32_t>& words, std::uint32_t version = 4) {
    std::string bytes = "qsgg";
    append_word(bytes, version);
    append_word(bytes, static_cast<std::uint32_t>(words.size()));
    for (const auto word : words) {
        append_word(bytes, word);
    }
    return bytes;
}

/// The packed list of today's llama-server, with the words that follow the tokens.
inline std::vector<std::uint32_t> packed_words(
    const std::vector<llama::token>& tokens, const std::vector<std::uint32_t>& media = {0}) {
    std::vector<std::uint32_t> words{0xffffffff, 1, static_cast<std::uint32_t>(tokens.size())};
    words.insert(words.end(), tokens.begin(), tokens.end());
    words.insert(words.end(), media.begin(), media.end());
    return words;
}

inline std::string state_file(
    const std::vector<llama::token>& tokens,
    std::size_t body_bytes = 100,
    std::uint32_t version = 4) {
    return state_head(packed_words(tokens), version) + std::string(body_bytes, 'k');
}

/// first, first + 1, ...
inline std::vector<llama::token> token_run(llama::token first, std::size_t count) {
    std::vector<llama::token> tokens(count);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
}

} // namespace hibernate::test

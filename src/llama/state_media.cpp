#include "llama_hibernate/llama/state_media.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace hibernate::llama {

namespace {

constexpr std::size_t length_bytes = sizeof(std::int32_t);

struct medium {
    std::size_t first_token = 0;
    std::span<const std::byte> content; ///< its bytes and their number
};

/// Each run of media positions has to begin with one of them, or something stands at positions that
/// nothing tells.
bool cover(const std::vector<medium>& media, const std::vector<token>& tokens) {
    auto next = media.begin();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool is_media = tokens[i] == media_token;
        const bool begins_run = is_media && (i == 0 || tokens[i - 1] != media_token);
        const bool begins_one = next != media.end() && next->first_token == i;
        if (begins_one ? !is_media : begins_run) {
            return false;
        }
        next += begins_one ? 1 : 0;
    }
    return next == media.end();
}

/// Nothing if it is not laid out as we know it.
std::optional<std::vector<medium>> read_media(const state_file_head& head) {
    const std::span words(head.media);
    if (words.empty()) {
        return std::nullopt;
    }
    const std::size_t count = static_cast<std::uint32_t>(words.front());
    if (count > words.size() - 1) {
        return std::nullopt;
    }
    std::vector<medium> media;
    auto rest = std::as_bytes(words.subspan(1 + count));
    for (const auto first : words.subspan(1, count)) {
        std::uint32_t bytes = 0;
        if (rest.size() < length_bytes) {
            return std::nullopt;
        }
        std::memcpy(&bytes, rest.data(), length_bytes);
        if (bytes > rest.size() - length_bytes) {
            return std::nullopt;
        }
        const auto whole = length_bytes + std::size_t{bytes};
        media.push_back({static_cast<std::uint32_t>(first), rest.first(whole)});
        rest = rest.subspan(whole);
    }
    const bool is_padding = rest.size() < length_bytes;
    return is_padding && cover(media, head.tokens) ? std::optional(std::move(media)) : std::nullopt;
}

} // namespace

std::vector<std::int32_t> media_of_first(const state_file_head& head, std::size_t tokens) {
    const auto end =
        head.tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens, head.tokens.size()));
    if (std::find(head.tokens.begin(), end, media_token) == end) {
        return {};
    }
    auto media = read_media(head);
    if (!media) {
        return head.media;
    }
    std::erase_if(*media, [tokens](const medium& one) { return one.first_token >= tokens; });
    std::vector<std::int32_t> words{static_cast<std::int32_t>(media->size())};
    std::size_t bytes = 0;
    for (const auto& one : *media) {
        words.push_back(static_cast<std::int32_t>(one.first_token));
        bytes += one.content.size();
    }
    auto at = words.size();
    words.resize(at + (bytes + length_bytes - 1) / length_bytes);
    auto* to = std::as_writable_bytes(std::span(words).subspan(at)).data();
    for (const auto& one : *media) {
        to = std::copy(one.content.begin(), one.content.end(), to);
    }
    return words;
}

} // namespace hibernate::llama

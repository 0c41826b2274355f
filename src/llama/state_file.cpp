#include "llama_hibernate/llama/state_file.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/llama/state_media.hpp"

namespace hibernate::llama {

namespace {

constexpr std::uint32_t magic = 0x67677371;
constexpr std::size_t fixed_bytes = 12; ///< magic, version, n_words
constexpr std::size_t word_bytes = 4;

/// 64 MiB of tokens and media is far beyond any context, and a bound on what a damaged n_words in a
/// large file can make us read.
constexpr std::uint32_t max_words = 16 * 1024 * 1024;

constexpr std::int32_t packed_mark = -1; ///< as the first word: a packed list follows
constexpr std::int32_t packed_version = 1;
constexpr std::size_t packed_fixed_words = 4; ///< mark, version, n_tokens and, at the end, n_media
constexpr std::size_t packed_first_words = 3; ///< those before the tokens
constexpr std::size_t start_bytes = fixed_bytes + word_bytes * packed_first_words;

state_file_reading refuse(std::string problem) {
    return {std::nullopt, std::move(problem)};
}

std::uint32_t word_at(std::string_view bytes, std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = word_bytes; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
    }
    return value;
}

struct fixed_part {
    std::uint32_t version = 0;
    std::uint32_t words = 0;
    std::string problem;

    std::size_t head_bytes() const { return fixed_bytes + word_bytes * std::size_t{words}; }
};

fixed_part parse_fixed_part(std::string_view start, std::uint64_t file_bytes) {
    fixed_part fixed;
    if (start.size() < fixed_bytes || file_bytes < fixed_bytes) {
        fixed.problem = fmt::format("it is cut off: it has {} bytes", file_bytes);
        return fixed;
    }
    if (word_at(start, 0) != magic) {
        fixed.problem = "it does not begin as a state file does";
        return fixed;
    }
    fixed.version = word_at(start, 4);
    fixed.words = word_at(start, 8);
    if (fixed.words > max_words) {
        fixed.problem = fmt::format("its token list claims {} words", fixed.words);
    } else if (fixed.head_bytes() >= file_bytes) {
        fixed.problem = fmt::format(
            "it is cut off: its token list claims {} words, and it has {} bytes in all",
            fixed.words, file_bytes);
    }
    return fixed;
}

struct packed_start {
    std::uint32_t tokens = 0;
    std::string problem;
};

/// From the first words of a packed list of so many in all.
packed_start parse_packed_start(std::span<const std::int32_t> first, std::size_t all) {
    if (all < packed_fixed_words) {
        return {0, fmt::format("its token list has only {} words", all)};
    }
    if (first[1] != packed_version) {
        return {0, fmt::format("its token list is of the unknown version {}", first[1])};
    }
    const auto count = static_cast<std::uint32_t>(first[2]);
    if (count > all - packed_fixed_words) {
        return {0, fmt::format("its token list claims {} tokens in {} words", count, all)};
    }
    return {count, {}};
}

state_file_reading read_packed(std::uint32_t version, std::span<const std::int32_t> words) {
    const auto start = parse_packed_start(words, words.size());
    if (!start.problem.empty()) {
        return refuse(start.problem);
    }
    const auto tokens = words.subspan(packed_first_words, start.tokens);
    const auto media = words.subspan(packed_first_words + start.tokens);
    const auto media_count = static_cast<std::uint32_t>(media[0]);
    const bool has_media = media_count > 0;
    if (has_media ? media_count > media.size() - 1 : media.size() != 1) {
        return refuse(fmt::format(
            "its token list has {} words after its {} tokens, and {} media", media.size(),
            start.tokens, media_count));
    }
    const auto lowest = has_media ? media_token : token{0};
    const auto invalid = std::find_if(
        tokens.begin(), tokens.end(), [lowest](token value) { return value < lowest; });
    if (invalid != tokens.end()) {
        return refuse(fmt::format("its token list contains the token {}", *invalid));
    }
    state_file_head head{version, {tokens.begin(), tokens.end()}, {}};
    if (has_media) {
        head.media.assign(media.begin(), media.end());
    }
    return {std::move(head), {}};
}

/// The first words of the list, of which there must be so many.
std::vector<std::int32_t> words_of(std::string_view head, std::size_t count) {
    std::vector<std::int32_t> words(count);
    for (std::size_t i = 0; i < count; ++i) {
        words[i] = static_cast<std::int32_t>(word_at(head, fixed_bytes + word_bytes * i));
    }
    return words;
}

state_file_reading read_plain(std::uint32_t version, std::vector<std::int32_t> words) {
    const auto invalid =
        std::find_if(words.begin(), words.end(), [](token value) { return value < 0; });
    if (invalid != words.end()) {
        return refuse(fmt::format("its token list contains the token {}", *invalid));
    }
    return {state_file_head{version, std::move(words), {}}, {}};
}

} // namespace

state_file_reading parse_state_file_head(std::string_view start, std::uint64_t file_bytes) {
    const auto fixed = parse_fixed_part(start, file_bytes);
    if (!fixed.problem.empty()) {
        return refuse(fixed.problem);
    }
    if (start.size() < fixed.head_bytes()) {
        return refuse(fmt::format("only {} bytes of it can be read", start.size()));
    }
    auto words = words_of(start, fixed.words);
    auto reading = !words.empty() && words.front() == packed_mark
                       ? read_packed(fixed.version, words)
                       : read_plain(fixed.version, std::move(words));
    if (reading.head) {
        reading.head->bytes = fixed.head_bytes();
    }
    return reading;
}

state_file_reading read_state_file_head(disk& disk, const std::filesystem::path& file) {
    const auto size = disk.size(file);
    if (!size) {
        return refuse(fmt::format("it cannot be read: {}", size.error().message()));
    }
    const auto start = disk.read(file, 0, fixed_bytes);
    if (!start) {
        return refuse(fmt::format("it cannot be read: {}", start.error().message()));
    }
    const auto fixed = parse_fixed_part(*start, *size);
    if (!fixed.problem.empty()) {
        return refuse(fixed.problem);
    }
    const auto head = disk.read(file, 0, fixed.head_bytes());
    if (!head) {
        return refuse(fmt::format("it cannot be read: {}", head.error().message()));
    }
    return parse_state_file_head(*head, *size);
}

std::string shortened(const state_file_head& head, std::size_t tokens) {
    const bool plain = head.bytes == fixed_bytes + word_bytes * head.tokens.size();
    const auto count = static_cast<std::uint32_t>(tokens);
    std::string bytes;
    const auto put = [&bytes](std::uint32_t value) {
        for (std::size_t i = 0; i < word_bytes; ++i) {
            bytes.push_back(static_cast<char>(value >> 8 * i & 0xff));
        }
    };
    put(magic);
    put(head.version);
    put(plain ? count : count + static_cast<std::uint32_t>(packed_fixed_words));
    if (!plain) {
        put(static_cast<std::uint32_t>(packed_mark));
        put(packed_version);
        put(count);
    }
    for (std::size_t i = 0; i < tokens; ++i) {
        put(static_cast<std::uint32_t>(head.tokens[i]));
    }
    if (!plain) {
        put(0); // media
    }
    return bytes;
}

state_file_start_reading read_state_file_start(disk& disk, const std::filesystem::path& file) {
    const auto unreadable = [](const error_code& failed) {
        return state_file_start_reading{{}, fmt::format("it cannot be read: {}", failed.message())};
    };
    const auto size = disk.size(file);
    if (!size) {
        return unreadable(size.error());
    }
    const auto bytes = disk.read(file, 0, start_bytes);
    if (!bytes) {
        return unreadable(bytes.error());
    }
    const auto fixed = parse_fixed_part(*bytes, *size);
    if (!fixed.problem.empty()) {
        return {{}, fixed.problem};
    }
    const auto count = std::min<std::size_t>(fixed.words, packed_first_words);
    if (bytes->size() < fixed_bytes + word_bytes * count) {
        return {{}, fmt::format("only {} bytes of it can be read", bytes->size())};
    }
    const auto first = words_of(*bytes, count);
    if (first.empty() || first.front() != packed_mark) {
        return {state_file_start{fixed.version, fixed.words}, {}};
    }
    auto packed = parse_packed_start(first, fixed.words);
    if (!packed.problem.empty()) {
        return {{}, std::move(packed.problem)};
    }
    return {state_file_start{fixed.version, packed.tokens}, {}};
}

bool continues(const state_file_head& later, const state_file_head& earlier) {
    if (earlier.tokens.size() > later.tokens.size() ||
        !std::equal(earlier.tokens.begin(), earlier.tokens.end(), later.tokens.begin())) {
        return false;
    }
    const auto count = earlier.tokens.size();
    return media_of_first(later, count) == media_of_first(earlier, count);
}

} // namespace hibernate::llama

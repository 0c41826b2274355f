#include "llama_hibernate/llama/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "gguf_cursor.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/llama/model_identity.hpp"

namespace hibernate::llama {

namespace {

enum class spelling {
    plain, ///< U+2581 is a space and <0xNN> a byte
    bytes, ///< each character is a byte
};

// Of the values of tokenizer.ggml.token_type.
constexpr std::uint64_t normal_token = 1;
constexpr std::uint64_t byte_token = 6;

/// What the header has of the tokens that are wanted.
struct tokenizer_parts {
    std::string model;
    std::string pre;
    bool has_tokens = false;
    token_texts spelled;
    std::map<token, std::uint64_t> types; ///< those that are not normal
};

std::optional<spelling> spelling_of(const tokenizer_parts& parts) {
    constexpr std::array plain_pre{"gemma4", "granite-embed-multi-311m", "sarvam-moe"};
    if (parts.model == "llama" || parts.model == "gemma4") {
        return spelling::plain;
    }
    if (parts.model == "gpt2") {
        const bool plain =
            std::find(plain_pre.begin(), plain_pre.end(), parts.pre) != plain_pre.end();
        return plain ? spelling::plain : spelling::bytes;
    }
    return std::nullopt;
}

// --- spellings

std::optional<unsigned> hex_digit(char digit) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto upper = digit >= 'a' && digit <= 'f' ? static_cast<char>(digit - 'a' + 'A') : digit;
    const auto value = digits.find(upper);
    return value == std::string_view::npos ? std::nullopt
                                           : std::optional(static_cast<unsigned>(value));
}

/// Of "<0xNN>".
std::optional<char> named_byte(std::string_view spelled) {
    if (spelled.size() != 6 || !spelled.starts_with("<0x") || spelled.back() != '>') {
        return std::nullopt;
    }
    const auto high = hex_digit(spelled[3]);
    const auto low = hex_digit(spelled[4]);
    return high && low ? std::optional(static_cast<char>(*high << 4 | *low)) : std::nullopt;
}

std::string with_spaces(std::string_view spelled) {
    constexpr std::string_view mark = "\xE2\x96\x81"; // U+2581
    std::string text;
    while (true) {
        const auto next = spelled.find(mark);
        text += spelled.substr(0, next);
        if (next == std::string_view::npos) {
            return text;
        }
        text += ' ';
        spelled.remove_prefix(next + mark.size());
    }
}

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/// By code point: bytes that Latin-1 can print stand for themselves, the others follow from U+0100
/// on. 256 where a code point stands for none.
constexpr std::array<unsigned, 0x144> make_byte_alphabet() {
    std::array<unsigned, 0x144> bytes{};
    bytes.fill(256);
    std::size_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        bytes[stands_for_itself(byte) ? byte : next++] = byte;
    }
    return bytes;
}

/// Nothing if a character stands for no byte.
std::optional<std::string> from_byte_alphabet(std::string_view spelled) {
    static constexpr auto alphabet = make_byte_alphabet();
    std::string text;
    while (!spelled.empty()) {
        const auto [code_point, bytes, valid] = first_character(spelled);
        if (!valid || code_point >= alphabet.size() || alphabet[code_point] > 0xFF) {
            return std::nullopt;
        }
        text += static_cast<char>(alphabet[code_point]);
        spelled.remove_prefix(bytes);
    }
    return text;
}

std::string text_of(const std::string& spelled, std::uint64_t type, spelling how) {
    if (type != normal_token && type != byte_token) {
        return spelled;
    }
    if (how == spelling::bytes) {
        return from_byte_alphabet(spelled).value_or(spelled);
    }
    const auto byte = named_byte(spelled);
    return byte ? std::string(1, *byte) : with_spaces(spelled);
}

// --- reading

/// Calls keep(id, value) for each item of an array that is wanted, and goes to the array's end.
template <typename Keep>
void read_wanted_items(
    gguf_cursor& from, const gguf_array& array, const std::set<token>& wanted, Keep keep) {
    std::uint64_t next = 0;
    for (auto id = wanted.lower_bound(0); id != wanted.end() && from.good(); ++id) {
        const auto index = static_cast<std::uint64_t>(*id);
        if (index >= array.count) {
            break;
        }
        skip_gguf_items(from, array.type, index - next);
        next = index + 1;
        if (auto value = read_gguf_value(from, array.type)) {
            keep(*id, std::move(*value));
        }
    }
    skip_gguf_items(from, array.type, array.count - next);
}

void read_tokens(
    gguf_cursor& from,
    const gguf_array& array,
    const std::set<token>& wanted,
    tokenizer_parts& parts) {
    if (parts.has_tokens) {
        from.refuse("it has two lists of tokens");
    }
    if (array.type != gguf_type::string) {
        from.refuse("its tokens are no strings");
    }
    parts.has_tokens = true;
    std::uint64_t kept_bytes = 0;
    read_wanted_items(from, array, wanted, [&](token id, gguf_value value) {
        auto& text = std::get<std::string>(value);
        kept_bytes += text.size();
        if (kept_bytes > max_gguf_kept_bytes) {
            from.refuse(fmt::format("these tokens have more than {} bytes", max_gguf_kept_bytes));
        } else {
            parts.spelled.emplace(id, std::move(text));
        }
    });
}

void read_types(
    gguf_cursor& from,
    const gguf_array& array,
    const std::set<token>& wanted,
    tokenizer_parts& parts) {
    read_wanted_items(from, array, wanted, [&](token id, const gguf_value& value) {
        const auto type = whole_number(value);
        if (type && *type != normal_token) {
            parts.types.emplace(id, *type);
        }
    });
}

void read_array(
    gguf_cursor& from, const gguf_key& key, const std::set<token>& wanted, tokenizer_parts& parts) {
    const auto array = read_gguf_array(from, key);
    if (key.name == "tokenizer.ggml.tokens") {
        read_tokens(from, array, wanted, parts);
    } else if (key.name == "tokenizer.ggml.token_type") {
        read_types(from, array, wanted, parts);
    } else {
        skip_gguf_items(from, array.type, array.count);
    }
}

tokenizer_parts read_parts(gguf_cursor& from, const std::set<token>& wanted) {
    tokenizer_parts parts;
    const auto start = read_gguf_start(from);
    for (std::uint64_t i = 0; i < start.metadata_count && from.good(); ++i) {
        const auto key = read_gguf_key(from);
        if (key.type == gguf_type::array) {
            read_array(from, key, wanted, parts);
            continue;
        }
        auto value = read_gguf_value(from, key.type);
        auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
        if (text != nullptr && key.name == "tokenizer.ggml.model") {
            parts.model = std::move(*text);
        } else if (text != nullptr && key.name == "tokenizer.ggml.pre") {
            parts.pre = std::move(*text);
        }
    }
    if (!parts.has_tokens) {
        from.refuse("it has no list of tokens");
    }
    return parts;
}

} // namespace

io_result<token_texts_reading>
read_token_texts(disk& disk, const std::filesystem::path& file, const std::set<token>& wanted) {
    const auto target = follow_links(file);
    const auto size = disk.size(target);
    if (!size) {
        return size.error();
    }
    gguf_cursor from(disk, target, *size);
    auto parts = read_parts(from, wanted);
    if (from.failure()) {
        return from.failure();
    }
    if (!from.good()) {
        return token_texts_reading{std::nullopt, from.problem()};
    }
    const auto how = spelling_of(parts);
    if (!how) {
        constexpr std::size_t longest_shown = 40;
        return token_texts_reading{
            std::nullopt, fmt::format(
                              "its tokenizer is of the unknown kind \"{}\"",
                              printable_text(parts.model.substr(0, longest_shown)))};
    }
    for (auto& [id, text] : parts.spelled) {
        const auto type = parts.types.find(id);
        text = text_of(text, type == parts.types.end() ? normal_token : type->second, *how);
    }
    return token_texts_reading{std::move(parts.spelled), {}};
}

std::string join_texts(std::span<const token> tokens, const token_texts& texts) {
    std::string joined;
    token before = 0;
    for (const auto id : tokens) {
        const bool same_media = id == media_token && before == media_token;
        before = id;
        if (same_media) {
            continue;
        }
        const auto found = texts.find(id);
        if (found != texts.end()) {
            joined += found->second;
        } else {
            joined += id == media_token ? "[media]" : fmt::format("[token {}]", id);
        }
    }
    return joined;
}

} // namespace hibernate::llama

#include "llama_hibernate/base/utf8.hpp"

namespace hibernate {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

/// What the first byte of a character tells: how many bytes follow, and the range of the first of
/// them, which leaves out what is overlong, a surrogate or beyond U+10FFFF.
struct lead_byte {
    std::size_t following = 0;
    unsigned lowest = 0x80;
    unsigned highest = 0xBF;
    char32_t bits = 0;
};

/// Nothing follows one that begins no character.
lead_byte read_lead_byte(unsigned byte) {
    if (byte >= 0xC2 && byte <= 0xDF) {
        return {1, 0x80, 0xBF, byte & 0x1F};
    }
    if (byte >= 0xE0 && byte <= 0xEF) {
        return {2, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU, byte & 0x0F};
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        return {3, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU, byte & 0x07};
    }
    return {};
}

/// U+061C, U+200E and U+200F, U+202A to U+202E, U+2066 to U+2069.
bool changes_direction(char32_t code_point) {
    return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
           (code_point >= 0x202A && code_point <= 0x202E) ||
           (code_point >= 0x2066 && code_point <= 0x2069);
}

bool breaks_line(char32_t code_point) {
    return code_point == '\t' || code_point == '\n' || code_point == '\r' ||
           code_point == 0x85 ||                         // next line
           code_point == 0x2028 || code_point == 0x2029; // line and paragraph separator
}

} // namespace

utf8_character first_character(std::string_view text) {
    const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte_at(0) < 0x80) {
        return {byte_at(0), 1, true};
    }
    auto lead = read_lead_byte(byte_at(0));
    std::size_t bytes = 1;
    char32_t code_point = lead.bits;
    while (bytes <= lead.following) {
        if (bytes == text.size() || byte_at(bytes) < lead.lowest || byte_at(bytes) > lead.highest) {
            return {0, bytes, false};
        }
        code_point = code_point << 6 | (byte_at(bytes) & 0x3FU);
        lead.lowest = 0x80;
        lead.highest = 0xBF;
        ++bytes;
    }
    return {code_point, bytes, lead.following > 0};
}

std::string printable_text(std::string_view bytes) {
    constexpr char32_t space = 0x20;
    constexpr char32_t del = 0x7F;
    constexpr char32_t last_c1 = 0x9F;
    std::string text;
    while (!bytes.empty()) {
        const auto [code_point, length, valid] = first_character(bytes);
        if (valid && breaks_line(code_point)) {
            text += ' ';
        } else if (valid && code_point < space) {
            text += "\xE2\x90"; // U+2400 and on
            text += static_cast<char>(0x80 + code_point);
        } else if (valid && code_point == del) {
            text += "\xE2\x90\xA1"; // U+2421
        } else if (
            !valid || (code_point > del && code_point <= last_c1) ||
            changes_direction(code_point)) {
            text += replacement;
        } else {
            text += bytes.substr(0, length);
        }
        bytes.remove_prefix(length);
    }
    return text;
}

} // namespace hibernate

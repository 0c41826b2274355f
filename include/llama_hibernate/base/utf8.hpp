#pragma once
// UTF-8 from strangers: read one character at a time, and made harmless for a terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace hibernate {

struct utf8_character {
    char32_t code_point = 0;
    std::size_t bytes = 0; ///< at least one
    bool valid = false;    ///< or else these bytes stand for no character
};

/// The character that a text begins with; the text is not empty. Bytes that are no UTF-8 (cut off,
/// overlong, a surrogate) are taken together as far as they might have become one character, which
/// is how Unicode counts replacement characters.
utf8_character first_character(std::string_view text);

/// Valid UTF-8 that moves no cursor, sets no colour and reorders nothing: each line break or tab is
/// a space, other C0 controls are their pictures (U+2400 and on), and what is left of controls (C1,
/// changes of writing direction) and of bytes that are no UTF-8 is U+FFFD.
std::string printable_text(std::string_view bytes);

} // namespace hibernate

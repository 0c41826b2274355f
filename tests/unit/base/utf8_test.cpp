#include "llama_hibernate/base/utf8.hpp"

#include "catch.hpp"

using hibernate::first_character;
using hibernate::printable_text;
using namespace std::string_view_literals;

TEST_CASE("utf8: the first character of a text is found, whatever follows it") {
    const auto check = [](std::string_view text, char32_t code_point, std::size_t bytes) {
        CAPTURE(text);
        const auto first = first_character(text);
        CHECK(first.valid);
        CHECK(first.code_point == code_point);
        CHECK(first.bytes == bytes);
    };
    check("a\xFF"sv, 'a', 1);
    check("\0"sv, 0, 1);
    check("\x7F"sv, 0x7F, 1);
    check("\xC2\x80"sv, 0x80, 2);
    check("\xDF\xBF"sv, 0x7FF, 2);
    check("\xE0\xA0\x80"sv, 0x800, 3);
    check("\xED\x9F\xBF"sv, 0xD7FF, 3);
    check("\xEE\x80\x80"sv, 0xE000, 3);
    check("\xEF\xBF\xBF"sv, 0xFFFF, 3);
    check("\xF0\x90\x80\x80"sv, 0x10000, 4);
    check("\xF0\x9F\x98\x80z"sv, 0x1F600, 4);
    check("\xF4\x8F\xBF\xBF"sv, 0x10FFFF, 4);
}

TEST_CASE("utf8: what is no character is taken as far as it might have become one") {
    const auto check = [](std::string_view text, std::size_t bytes) {
        CAPTURE(text);
        CHECK_FALSE(first_character(text).valid);
        CHECK(first_character(text).bytes == bytes);
    };
    check("\x80"sv, 1);     // begins nothing
    check("\xC0\x80"sv, 1); // overlong
    check("\xC1\xBF"sv, 1);
    check("\xE0\x9F\xBF"sv, 1);
    check("\xF0\x8F\xBF\xBF"sv, 1);
    check("\xED\xA0\x80"sv, 1);     // a surrogate
    check("\xF4\x90\x80\x80"sv, 1); // beyond U+10FFFF
    check("\xF5\x80\x80\x80"sv, 1);
    check("\xFF"sv, 1);
    check("\xC3"sv, 1); // cut off
    check("\xE2\x82"sv, 2);
    check("\xF0\x9F\x98"sv, 3);
    check("\xE2\x82z"sv, 2);
    check("\xC3\xC3\xA4"sv, 1);
}

TEST_CASE("utf8: a text of any language is printed as it is") {
    for (const auto text :
         {""sv, "plain ASCII ~"sv, "\xC3\xA4\xC2\xA0\xE6\xBC\xA2\xE5\xAD\x97"sv,
          // a family of three, which zero-width joiners hold together
          "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA6"sv,
          "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"sv}) {
        CHECK(printable_text(text) == text);
    }
}

TEST_CASE("utf8: nothing that a terminal obeys is left in a printable text") {
    CHECK(printable_text("a\nb\tc\rd") == "a b c d");
    CHECK(
        printable_text("a\xC2\x85"
                       "b\xE2\x80\xA8"
                       "c\xE2\x80\xA9") == "a b c ");
    CHECK(printable_text("\x1B[31mred\x07"sv) == "\xE2\x90\x9B[31mred\xE2\x90\x87");
    CHECK(printable_text("\0"sv) == "\xE2\x90\x80");
    CHECK(printable_text("\x1F\x7F") == "\xE2\x90\x9F\xE2\x90\xA1");
    CHECK(
        printable_text("\xC2\x9B"
                       "31m") == "\xEF\xBF\xBD"
                                 "31m"); // CSI in one character
    CHECK(
        printable_text("\x9B"
                       "31m") == "\xEF\xBF\xBD"
                                 "31m");                     // and in one byte
    CHECK(printable_text("\xE2\x80\xAE") == "\xEF\xBF\xBD"); // right-to-left override
    CHECK(printable_text("\xE2\x81\xA9\xD8\x9C") == "\xEF\xBF\xBD\xEF\xBF\xBD");
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto text = printable_text(std::string("a") + static_cast<char>(byte) + "b");
        for (const char each : text) {
            const auto value = static_cast<unsigned char>(each);
            CHECK((value >= 0x20 && value != 0x7F));
        }
        CHECK(text.front() == 'a');
        CHECK(text.back() == 'b');
        CHECK(printable_text(text) == text);
    }
}

TEST_CASE("utf8: a character that is cut off shows as one replacement") {
    CHECK(printable_text("\x98\x80 begins") == "\xEF\xBF\xBD\xEF\xBF\xBD begins");
    CHECK(printable_text("ends \xF0\x9F\x98") == "ends \xEF\xBF\xBD");
    CHECK(printable_text("\xE2\x82\xE2\x82\xAC") == "\xEF\xBF\xBD\xE2\x82\xAC");
}

#include "llama_hibernate/base/hash.hpp"

#include "catch.hpp"

using namespace hibernate;

TEST_CASE("hashes are those of XXH3") {
    CHECK(hash64_hex("") == "2d06800538d394c2");
    CHECK(hash64({}, 0) == 0x2d06800538d394c2);
    CHECK(hash64({}, 1) != hash64({}, 0));
    hasher128 whole;
    whole.update(std::string_view("abcdef"));
    hasher128 pieces;
    pieces.update(std::string_view("abc"));
    pieces.update(std::string_view("def"));
    CHECK(whole.hex() == pieces.hex());
    CHECK(whole.hex().size() == 32);
    CHECK(hasher128().hex() == "99aa06d3014798d86001c324468d497f");
}

#include "llama_hibernate/keeper/crash_blame.hpp"

#include "catch.hpp"

using hibernate::keeper::condemns;

TEST_CASE("a crash condemns what alone can have caused it, or what was there twice in a row") {
    CHECK(condemns({1, 1, false}));
    CHECK_FALSE(condemns({1, 1, true}));
    CHECK_FALSE(condemns({3, 1, false}));
    CHECK(condemns({3, 2, false}));
    CHECK(condemns({1, 2, true}));
    CHECK(condemns({3, 5, true}));
}

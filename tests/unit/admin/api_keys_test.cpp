#include "llama_hibernate/admin/api_keys.hpp"

#include "catch.hpp"

using namespace hibernate::admin;

TEST_CASE("a key is taken from either header, as llama-server takes it") {
    const api_keys keys({"first", "second"});
    CHECK(keys.admit("Bearer first", std::nullopt));
    CHECK(keys.admit("second", std::nullopt));
    CHECK(keys.admit(std::nullopt, "second"));
    CHECK(keys.admit("", "second"));
    CHECK(keys.admit(std::nullopt, "Bearer second"));
}

TEST_CASE("anything else is refused") {
    const api_keys keys({"first"});
    CHECK_FALSE(keys.admit(std::nullopt, std::nullopt));
    CHECK_FALSE(keys.admit("", ""));
    CHECK_FALSE(keys.admit("Bearer ", std::nullopt));
    CHECK_FALSE(keys.admit("Bearer firs", std::nullopt));
    CHECK_FALSE(keys.admit("Bearer first ", std::nullopt));
    CHECK_FALSE(keys.admit("bearer first", std::nullopt));
    CHECK_FALSE(keys.admit("Basic first", std::nullopt));
    // The first header decides, if there is something in it.
    CHECK_FALSE(keys.admit("Bearer wrong", "first"));
}

TEST_CASE("without keys everybody is admitted") {
    CHECK(api_keys({}).admit(std::nullopt, std::nullopt));
    CHECK(api_keys({}).admit("Bearer whatever", std::nullopt));
}

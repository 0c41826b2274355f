#include "llama_hibernate/store/signature.hpp"

#include "catch.hpp"

using hibernate::store::compatible;
using hibernate::store::explain_difference;
using hibernate::store::signature;

TEST_CASE("a signature's hash tells every part, its name and its absence") {
    const signature base{{{"build", "b1"}, {"streams", "1"}}};
    CHECK(base.hash().size() == 32);
    CHECK(base.hash() == signature{{{"streams", "1"}, {"build", "b1"}}}.hash());
    CHECK(base.hash() != signature{{{"build", "b2"}, {"streams", "1"}}}.hash());
    CHECK(base.hash() != signature{{{"build", "b1"}}}.hash());
    CHECK(base.hash() != signature{{{"built", "b1"}, {"streams", "1"}}}.hash());
    CHECK(signature{{{"a", ""}}}.hash() != signature{}.hash());
}

TEST_CASE("parts that only look alike when they are put together have different hashes") {
    CHECK(signature{{{"a", "b1:c1:d"}}}.hash() != signature{{{"a", "b"}, {"c", "d"}}}.hash());
    CHECK(signature{{{"ab", "c"}}}.hash() != signature{{{"a", "bc"}}}.hash());
}

TEST_CASE("a difference is explained part by part") {
    const signature saved{{{"build", "b1"}, {"cache-type-k", "f16"}, {"streams", "1"}}};
    CHECK(explain_difference(saved, saved).empty());
    CHECK(
        explain_difference(
            saved, {{{"build", "b2"}, {"cache-type-k", "q8_0"}, {"streams", "1"}}}) ==
        "build b1, now b2; cache-type-k f16, now q8_0");
    CHECK(
        explain_difference(saved, {{{"build", "b1"}, {"lora", "a1b2"}, {"streams", "1"}}}) ==
        "cache-type-k f16, now default; lora default, now a1b2");
    CHECK(explain_difference({{{"x", ""}}}, {}) == "x \"\", now default");
}

TEST_CASE("every part has to be equal, but for those that nobody asks for") {
    const signature saved{{{"build", "b1"}, {"model", "m"}, {"state-version", "4"}}};
    CHECK(compatible(saved, saved));
    CHECK(compatible(saved, {{{"build", "b1"}, {"model", "m"}}}));
    CHECK(compatible(saved, {{{"model", "m"}, {"state-version", "4"}}}));
    CHECK_FALSE(compatible(saved, {{{"build", "b2"}, {"model", "m"}}}));
    CHECK_FALSE(compatible(saved, {{{"model", "m"}, {"state-version", "5"}}}));
    CHECK_FALSE(compatible(saved, {{{"build", "b1"}, {"model", "other"}}}));
    CHECK_FALSE(compatible(saved, {{{"build", "b1"}, {"model", "m"}, {"lora", "a"}}}));
    CHECK_FALSE(compatible(saved, {{{"build", "b1"}}}));
    // Whoever asks for the build does not take a snapshot that does not say it.
    CHECK_FALSE(compatible({{{"model", "m"}}}, {{{"build", "b1"}, {"model", "m"}}}));
    CHECK(explain_difference(saved, {{{"model", "m"}}}).empty());
    CHECK_FALSE(compatible({{{"lora", ""}}}, {}));
}

TEST_CASE("of content hashes the first digits are told") {
    const std::string one(32, 'a'), two = std::string(31, 'b') + "1";
    CHECK(
        explain_difference({{{"lora", one + ":0.5"}}}, {{{"lora", one + "," + two}}}) ==
        "lora aaaaaaaa:0.5, now aaaaaaaa,bbbbbbbb");
    CHECK(explain_difference({{{"build", "deadbeef1"}}}, {}).empty());
    CHECK(
        explain_difference({{{"x", "deadbeef1"}}}, {{{"x", std::string(33, 'c')}}}) ==
        "x deadbeef1, now " + std::string(33, 'c'));
}

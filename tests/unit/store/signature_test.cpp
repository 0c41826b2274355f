#include "llama_hibernate/store/signature.hpp"

#include "catch.hpp"

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

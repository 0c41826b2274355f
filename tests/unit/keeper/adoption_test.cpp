#include "llama_hibernate/keeper/adoption.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "state_bytes.hpp"

using namespace hibernate;
using namespace hibernate::keeper;
using hibernate::test::token_run;

namespace {

llama::state_file_head head_of(std::size_t tokens) {
    return {4, token_run(1, tokens), {}};
}

llama::next_token answer(std::uint64_t reused, std::map<llama::token, double> listed) {
    return {reused, std::move(listed)};
}

const std::map<llama::token, double> likely{{7, -0.21}, {8, -1.9}, {9, -3.4}};

} // namespace

TEST_CASE("only files that are named after a slot are adoptable") {
    for (const char* name : {"0.bin", "3.bin", "12.bin", "007.bin"}) {
        CAPTURE(name);
        CHECK(is_adoptable_name(name));
    }
    for (const char* name :
         {"", ".bin", "a.bin", "-1.bin", "1.bin.tmp", "1.kv", "1", "1 .bin", "1234567.bin",
          "0.BIN"}) {
        CAPTURE(name);
        CHECK_FALSE(is_adoptable_name(name));
    }
}

TEST_CASE("a file has to fit into a slot of the child") {
    const adoption_limits limits{256, 4096, 5000};
    CHECK(why_unfit(head_of(256), limits).empty());
    CHECK(why_unfit(head_of(4095), limits).empty());
    CHECK(why_unfit(head_of(0), limits) == "the slot was empty");
    CHECK(why_unfit(head_of(255), limits) == "it has 255 tokens, fewer than 256");
    CHECK(
        why_unfit(head_of(4096), limits) ==
        "its 4096 tokens do not fit into a slot's context of 4096");

    auto images = head_of(300);
    images.tokens[100] = -1;
    images.media = {1, 100, 0};
    CHECK(why_unfit(images, limits) == "it holds images or sounds, which cannot be checked");

    CHECK(
        why_unfit(head_of(300), {256, 4096, 300}) ==
        "it has the token 300, and the model knows 300");
    CHECK(why_unfit(head_of(300), {256, 4096, 301}).empty());
    CHECK(why_unfit(head_of(300), {256, 4096, {}}).empty());
    CHECK(why_unfit(head_of(9999), {256, 0, {}}).empty());
}

TEST_CASE("a few tokens do not tell models apart, whatever is worth a file") {
    CHECK(why_unfit(head_of(16), {1, 4096, {}}).empty());
    CHECK(why_unfit(head_of(15), {1, 4096, {}}) == "it has 15 tokens, fewer than 16");
}

TEST_CASE("what a model does not remember cannot be checked") {
    CHECK(why_uncheckable(llama::context_memory::everything).empty());
    CHECK(
        why_uncheckable(llama::context_memory::sliding_window).find("sliding-window") !=
        std::string::npos);
    CHECK_FALSE(why_uncheckable(llama::context_memory::recurrent).empty());
}

TEST_CASE("the check takes the first tokens, and never all of them") {
    CHECK(probe_length(5000) == 64);
    CHECK(probe_length(65) == 64);
    CHECK(probe_length(64) == 63);
    CHECK(probe_length(16) == 15);
    CHECK(probe_length(0) == 0);
}

TEST_CASE("two states of the child tell how long any is") {
    const auto length = measure({48, 48 * 768 + 100}, {64, 64 * 768 + 100});
    REQUIRE(length);
    CHECK(length->of(1000) == 768'100);
    // As many, shorter, no whole number of bytes for each, or less than nothing for none.
    CHECK_FALSE(measure({64, 1000}, {64, 2000}));
    CHECK_FALSE(measure({48, 2000}, {64, 2000}));
    CHECK_FALSE(measure({48, 1000}, {64, 1001}));
    CHECK_FALSE(measure({48, 100}, {64, 10000}));
}

TEST_CASE("rounding passes, and another model does not") {
    const auto computed = answer(0, likely);
    CHECK(why_refused(computed, answer(63, likely), 64).empty());
    CHECK(why_refused(computed, answer(63, {{7, -0.22}, {8, -1.89}, {9, -3.39}}), 64).empty());

    const auto why = why_refused(computed, answer(63, {{7, -0.21}, {8, -1.9}, {9, -3.6}}), 64);
    CHECK(why.find("another model wrote it") == 0);
    CHECK(why.find("0.200") != std::string::npos);
}

TEST_CASE("a token that one answer does not list is less probable there than all that it lists") {
    const auto one = answer(0, likely);
    // At the end of the list two tokens of about the same probability change places.
    CHECK(log_difference(one, answer(63, {{7, -0.21}, {8, -1.9}, {10, -3.39}})) < 0.02);
    // Of these each believes what the other does not even name.
    const auto other = answer(63, {{11, -0.21}, {12, -1.9}, {13, -3.4}});
    CHECK(std::abs(log_difference(one, other) - 3.19) < 1e-9);
    CHECK(std::abs(log_difference(other, one) - 3.19) < 1e-9);
    CHECK_FALSE(why_refused(one, other, 64).empty());
}

TEST_CASE("without the two answers that it compares there is no check") {
    const auto computed = answer(0, likely);
    CHECK_FALSE(why_refused(computed, answer(0, likely), 64).empty());
    CHECK_FALSE(why_refused(computed, answer(62, likely), 64).empty());
    CHECK_FALSE(why_refused(computed, answer(64, likely), 64).empty());
    CHECK_FALSE(why_refused(answer(63, likely), answer(63, likely), 64).empty());
    CHECK_FALSE(why_refused(answer(0, {}), answer(63, {}), 64).empty());
    CHECK_FALSE(why_refused(computed, answer(63, {}), 64).empty());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(why_refused(computed, answer(63, {{7, nan}}), 64).empty());
    const double infinite = std::numeric_limits<double>::infinity();
    CHECK_FALSE(why_refused(computed, answer(63, {{7, -infinite}}), 64).empty());
}

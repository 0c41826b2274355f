#include <string>
#include <string_view>

#include "catch.hpp"
#include "llama_hibernate/llama/prompt_counts.hpp"

using hibernate::llama::prompt_counts;
using hibernate::llama::receipt;

namespace {

std::optional<receipt> counts_in(std::string_view document) {
    prompt_counts counts;
    counts.feed(document);
    const auto whole = counts.result();
    counts.restart();
    for (const char byte : document) {
        counts.feed({&byte, 1});
    }
    CHECK(counts.result() == whole);
    return whole;
}

constexpr std::string_view timings = R"("timings":{"cache_n":3,"prompt_n":4})";

std::string object(std::string_view members) {
    return "{" + std::string(members) + "}";
}

} // namespace

TEST_CASE("every API's counts are understood") {
    const std::string members = GENERATE(
        as<std::string>{}, R"("timings":{"cache_n":3,"prompt_n":4})",
        R"("usage":{"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":3}})",
        R"("usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":3}})",
        R"("usage":{"cache_read_input_tokens":3,"input_tokens":4})",
        R"("response":{"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":3}}})",
        R"("message":{"usage":{"cache_read_input_tokens":3,"input_tokens":4}})",
        R"("timings/cache_n":3,"timings/prompt_n":4)");
    CHECK(counts_in(object(members)) == receipt{3, 4});
    CHECK(counts_in("[" + object(members) + "]") == receipt{3, 4});
}

TEST_CASE("the order of keys and the space between them mean nothing") {
    const std::string document = GENERATE(
        as<std::string>{}, R"({"timings":{"prompt_n":4,"x":9,"cache_n":3},"id":"a"})",
        R"({"usage":{"prompt_tokens_details":{"x":[1],"cached_tokens":3},"prompt_tokens":7}})",
        R"({"usage":{"input_tokens":4,"cache_read_input_tokens":3}})",
        "\n{ \"timings\" : {\r\n\t\"cache_n\" : 3 ,\n \"prompt_n\" :4\n} ,\n \"a\" : [ ] }\n");
    CHECK(counts_in(document) == receipt{3, 4});
}

TEST_CASE("the time that a prompt took is read with its counts") {
    using std::chrono::microseconds;
    const auto time_of = [](const std::string& text) {
        const auto told =
            counts_in(R"({"timings":{"cache_n":3,"prompt_n":4,"prompt_ms":)" + text + "}}");
        REQUIRE(told);
        return told->compute_time;
    };
    CHECK(time_of("1.5") == microseconds(1500));
    CHECK(time_of("0.26") == microseconds(260));
    CHECK(time_of("12") == microseconds(12'000));
    CHECK(time_of("2.5e2") == microseconds(250'000));
    for (const char* text : {"-1", "null", "1e300", "\"1\"", "nan", "inf"}) {
        CAPTURE(text);
        CHECK(time_of(text) == microseconds(0));
    }
    // Of another object it says nothing.
    const auto told =
        counts_in(R"([{"timings":{"prompt_ms":7}},{"timings":{"cache_n":3,"prompt_n":4}}])");
    CHECK(told == receipt{3, 4});
}

TEST_CASE("timings are preferred, wherever they stand") {
    const std::string usage =
        R"("usage":{"prompt_tokens":2,"prompt_tokens_details":{"cached_tokens":1}})";
    CHECK(counts_in(object(usage + "," + std::string(timings))) == receipt{3, 4});
    CHECK(counts_in(object(std::string(timings) + "," + usage)) == receipt{3, 4});
}

TEST_CASE("what the model or the user wrote tells nothing") {
    const std::string document = GENERATE(
        as<std::string>{}, R"({"content":"\"timings\":{\"cache_n\":3,\"prompt_n\":4}"})",
        R"({"content":"\\\"},\"timings\":{\"cache_n\":3,\"prompt_n\":4},{\""})",
        R"({"content":"{\"timings\":{\"cache_n\":3,\"prompt_n\":4}}\\"})",
        R"({"content":[{"input":{"timings":{"cache_n":3,"prompt_n":4}}}]})",
        R"({"content":[{"usage":{"cache_read_input_tokens":3,"input_tokens":4}}]})",
        R"({"message":{"timings":{"cache_n":3,"prompt_n":4}}})",
        R"({"message":{"message":{"usage":{"cache_read_input_tokens":3,"input_tokens":4}}}})",
        R"({"timings":[{"cache_n":3,"prompt_n":4}]})",
        R"({"timings":{"deeper":{"cache_n":3,"prompt_n":4}}})",
        R"({"timings":{"cache_n":{"cache_n":3},"prompt_n":4}})",
        R"([[{"timings":{"cache_n":3,"prompt_n":4}}]])", R"({"cache_n":3,"prompt_n":4})",
        R"({"a":"timings","b":{"cache_n":3,"prompt_n":4}})",
        R"({"a":["timings"],"b":{"cache_n":3,"prompt_n":4}})");
    INFO(document);
    CHECK_FALSE(counts_in(document));
    // And changes nothing of what the server tells beside it.
    if (document.front() == '{') {
        const auto beside = document.substr(0, document.size() - 1) + R"(,"timings":)";
        CHECK(counts_in(beside + R"({"cache_n":1,"prompt_n":2}})") == receipt{1, 2});
    }
}

TEST_CASE("counts that cannot be are none") {
    const std::string document = GENERATE(
        as<std::string>{}, R"({"timings":{"cache_n":3}})", R"({"timings":{"prompt_n":4}})",
        R"({"timings":{"cache_n":-3,"prompt_n":4}})", R"({"timings":{"cache_n":3.5,"prompt_n":4}})",
        R"({"timings":{"cache_n":"3","prompt_n":4}})",
        R"({"timings":{"cache_n":null,"prompt_n":4}})",
        R"({"timings":{"cache_n":18446744073709551616,"prompt_n":4}})",
        R"({"timings":{"cache_n":184467440737095516150,"prompt_n":4}})",
        R"({"timings":{"save_ms":3.5}})", R"({"usage":{"prompt_tokens":7,"total_tokens":7}})",
        R"({"usage":{"prompt_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}})",
        R"({"usage":{"output_tokens":7}})", R"({"input_tokens":7})");
    INFO(document);
    CHECK_FALSE(counts_in(document));
}

TEST_CASE("the largest counts are read") {
    CHECK(
        counts_in(R"({"timings":{"cache_n":18446744073709551615,"prompt_n":0}})") ==
        receipt{18446744073709551615U, 0});
}

TEST_CASE("a key is one only if it is whole") {
    const std::string key = GENERATE(
        as<std::string>{}, "timing", "timingss", "Timings", "timings\\u0000", "x\\\"timings",
        "timings" + std::string(1000, 'x'));
    CHECK_FALSE(counts_in("{\"" + key + R"(":{"cache_n":3,"prompt_n":4}})"));
}

TEST_CASE("counts of one object are not mixed with those of another") {
    CHECK_FALSE(counts_in(R"([{"timings":{"cache_n":3}},{"timings":{"prompt_n":4}}])"));
    CHECK(
        counts_in(
            R"([{"timings":{"cache_n":1,"prompt_n":2}},)" + object(timings) + R"(,{"a":1}])") ==
        receipt{3, 4});
}

TEST_CASE("an object that is not complete tells nothing") {
    const auto document = object(timings);
    for (std::size_t size = 0; size < document.size(); ++size) {
        CHECK_FALSE(counts_in(std::string_view(document).substr(0, size)));
    }
}

TEST_CASE("depth without end does no harm") {
    std::string document(1'000'000, '[');
    document += std::string(1'000'000, ']') + std::string(10, '}') + object(timings);
    prompt_counts counts;
    counts.feed(document);
    CHECK(counts.result() == receipt{3, 4});
}

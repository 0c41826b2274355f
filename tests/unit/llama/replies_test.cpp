#include "catch.hpp"

#include "llama_hibernate/llama/client.hpp"

using namespace hibernate::llama;

TEST_CASE("answers of llama-server are read as it writes them") {
    auto props = read_properties(
        R"({"total_slots":2,"model_path":"/m/a.gguf","build_info":"b11669-Debian","is_sleeping":true,
            "default_generation_settings":{"n_ctx":4096}})");
    REQUIRE(props);
    CHECK(props->total_slots == 2);
    CHECK(props->model_path == "/m/a.gguf");
    CHECK(props->build == "b11669-Debian");
    CHECK(props->is_sleeping);
    CHECK(props->context_size == 4096);

    auto slots = read_slots(
        R"([{"id":0,"n_ctx":4096,"is_processing":false},
            {"id":1,"n_ctx":4096,"speculative":true,"is_processing":true,"n_prompt_tokens":0},
            {"id":2,"n_ctx":4096,"is_processing":false,"n_prompt_tokens":1507}])");
    REQUIRE(slots);
    REQUIRE(slots->size() == 3);
    CHECK_FALSE((*slots)[0].tokens);
    CHECK((*slots)[1].tokens == 0U);
    CHECK((*slots)[1].is_processing);
    CHECK((*slots)[1].speculative);
    CHECK_FALSE((*slots)[0].speculative);
    CHECK((*slots)[2].tokens == 1507U);

    auto saved = read_saved(
        R"({"id_slot":0,"filename":"x","n_saved":1507,"n_written":3110548,"timings":{"save_ms":1.8}})");
    REQUIRE(saved);
    CHECK(saved->tokens == 1507);
    CHECK(saved->bytes == 3110548);
    CHECK(saved->time == std::chrono::microseconds(1800));

    auto restored = read_restored(
        R"({"id_slot":0,"filename":"x","n_restored":1507,"n_read":3110548,"timings":{"restore_ms":1.3}})");
    REQUIRE(restored);
    CHECK(restored->tokens == 1507);
}

TEST_CASE("an answer that is something else is a failure, never a crash") {
    for (const auto* body :
         {"", "null", "[]", "{}", "[1]", "\"x\"", "{\"total_slots\":\"two\"}",
          "{\"n_saved\":-1.5e300}", "\xff\xfe"}) {
        CAPTURE(body);
        CHECK_FALSE(read_properties(body));
        CHECK_FALSE(read_saved(body));
        CHECK_FALSE(read_restored(body));
        CHECK_FALSE(read_generated(body));
    }
    CHECK_FALSE(read_slots("[{\"id\":\"zero\"}]"));
    CHECK_FALSE(read_slots("[1]"));
}

TEST_CASE("only a generated token says that the child works") {
    CHECK(read_generated(R"({"content":" with","tokens_predicted":1})"));
    CHECK_FALSE(read_generated(R"({"content":"","tokens_predicted":0})"));
    CHECK_FALSE(read_generated(R"({"content":"x"})"));
}

TEST_CASE("the reason of an error is its message, or what there is") {
    CHECK(
        read_error_message(R"({"error":{"code":503,"message":"Loading model","type":"x"}})") ==
        "Loading model");
    CHECK(read_error_message("plain text") == "plain text");
    CHECK(read_error_message(R"({"error":"text"})") == R"({"error":"text"})");
    CHECK(read_error_message(std::string(5000, 'x')).size() == 200);
}

TEST_CASE("what comes next is told with its probabilities") {
    const auto read = read_next_token(
        R"({"content":" a","timings":{"cache_n":63,"prompt_n":1},"completion_probabilities":[)"
        R"({"id":5,"token":" a","logprob":-0.21,"top_logprobs":[)"
        R"({"id":5,"token":" a","logprob":-0.21},{"id":9,"token":"b","logprob":-3}]}]})");
    REQUIRE(read);
    CHECK(read->reused == 63);
    CHECK(read->log_probabilities == std::map<token, double>{{5, -0.21}, {9, -3.0}});
    // Nothing was generated, or no probabilities are told.
    CHECK_FALSE(read_next_token(R"({"timings":{"cache_n":63},"completion_probabilities":[]})"));
    CHECK_FALSE(read_next_token(R"({"timings":{"cache_n":63}})"));
    CHECK_FALSE(read_next_token("[]"));
}

TEST_CASE("the size of the vocabulary is told with the model") {
    const auto read = read_vocabulary_size(R"({"data":[{"id":"x","meta":{"n_vocab":32000}}]})");
    REQUIRE(read);
    CHECK(*read == 32000);
    CHECK_FALSE(read_vocabulary_size(R"({"data":[{"id":"x","meta":null}]})"));
    CHECK_FALSE(read_vocabulary_size(R"({"data":[]})"));
}

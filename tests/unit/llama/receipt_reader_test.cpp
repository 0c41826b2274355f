#include <string>
#include <string_view>

#include "catch.hpp"
#include "completion_answers.hpp"
#include "llama_hibernate/llama/receipt_reader.hpp"

using hibernate::llama::receipt;
using hibernate::llama::receipt_reader;
using hibernate::test::completion_answers;

namespace {

std::optional<receipt> read_in_pieces(std::string_view body, std::size_t piece) {
    receipt_reader reader;
    while (!body.empty()) {
        const auto part = body.substr(0, piece);
        reader.feed(part);
        body.remove_prefix(part.size());
    }
    return reader.result();
}

std::optional<receipt> read_whole(std::string_view body) {
    return read_in_pieces(body, std::string_view::npos);
}

std::string event(std::string_view data) {
    return "data: " + std::string(data) + "\n\n";
}

constexpr std::string_view last_event = R"({"timings":{"cache_n":3,"prompt_n":4}})";

} // namespace

TEST_CASE("the receipt of real answers is read wherever they are split") {
    for (const auto& answer : completion_answers) {
        INFO(answer.request);
        for (std::size_t split = 0; split <= answer.body.size(); ++split) {
            receipt_reader reader;
            reader.feed(answer.body.substr(0, split));
            reader.feed(answer.body.substr(split));
            if (reader.result() != answer.told) {
                FAIL("split at " << split);
            }
        }
        for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U}) {
            CHECK(read_in_pieces(answer.body, piece) == answer.told);
        }
    }
}

TEST_CASE("a body that says the same with other line ends and space is read as well") {
    const std::string before = GENERATE(as<std::string>{}, "", "\r\n", ": ping\r\n\r\n");
    const std::string data = R"({"timings": {"cache_n": 3,)"
                             "\r\ndata:"
                             R"("prompt_n": 4}})";
    CHECK(read_whole(before + "event: x\r\ndata:" + data + "\r\n\r\n") == receipt{3, 4});
    CHECK(read_whole(" \n" + std::string(last_event)) == receipt{3, 4});
}

TEST_CASE("a text within an event is not taken for an event") {
    CHECK_FALSE(read_whole(event(R"({"content":"\n\ndata: {\"timings\":{\"cache_n\":3,"})")));
    CHECK_FALSE(read_whole("id: data: " + std::string(last_event) + "\n\n"));
    CHECK_FALSE(read_whole("database: " + std::string(last_event) + "\n\n"));
    CHECK_FALSE(read_whole("<p>" + std::string(last_event)));
}

TEST_CASE("what one event leaves open is not carried into the next") {
    const std::string broken = GENERATE(as<std::string>{}, "{\"a", "{[", "[DONE", "\\", "\"", "}}");
    CHECK(read_whole(event(broken) + event(last_event)) == receipt{3, 4});
    CHECK(read_whole(event(last_event) + event(broken)) == receipt{3, 4});
}

TEST_CASE("the counts of a prompt in progress give way to those of the whole") {
    const auto progress = event(R"({"timings":{"cache_n":3,"prompt_n":2}})");
    CHECK(read_whole(progress) == receipt{3, 2});
    CHECK(read_whole(progress + event(last_event) + event("[DONE]")) == receipt{3, 4});
}

TEST_CASE("a stream that breaks off has the receipt of what came") {
    const auto stream =
        event(R"({"message":{"usage":{"input_tokens":4,"cache_read_input_tokens":3}}})");
    CHECK(read_whole(stream + "data: {\"type\":\"conte") == receipt{3, 4});
    CHECK_FALSE(read_whole(stream.substr(0, stream.size() - 3)));
}

TEST_CASE("a long body is read to its end") {
    const std::string text(3'000'000, 'x');
    const auto document = R"({"content":")" + text + R"(","tokens":[1,2],)";
    CHECK(read_in_pieces(document + std::string(last_event.substr(1)), 1000) == receipt{3, 4});
    CHECK(read_in_pieces(event(document + "\"a\":1}") + event(last_event), 1000) == receipt{3, 4});
}

TEST_CASE("bodies that are neither have no receipt") {
    const std::string body = GENERATE(
        as<std::string>{}, "", " ", "data", "data:", "7", "\"timings\"", std::string("\0\xff", 2));
    CHECK_FALSE(read_whole(body));
}

#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "llama_hibernate/keeper/request_lineage.hpp"

using hibernate::keeper::continues_request;
using hibernate::keeper::conversation_extent;

namespace {

/// A body in which '^' marks the extent that is expected.
struct marked {
    explicit marked(std::string text) : body(std::move(text)), extent(body.find('^')) {
        REQUIRE(extent != std::string::npos);
        body.erase(extent, 1);
    }
    std::string body;
    std::size_t extent;
};

std::string chat(const std::string& messages) {
    return R"({"model":"m","messages":[)" + messages + R"(],"stream":true})";
}

const std::string system_1 = R"({"role":"system","content":"be brief"})";
const std::string user_1 = R"({"role":"user","content":"say \"[\" and \\"})";
const std::string answer_1 = R"({"role":"assistant","content":"[ \\"})";
const std::string user_2 = R"({"role":"user","content":"and now?"})";
const std::string first_turn = chat(system_1 + "," + user_1);
const std::string second_turn = chat(system_1 + "," + user_1 + "," + answer_1 + "," + user_2);

} // namespace

TEST_CASE("the extent of a conversation ends behind its last element or character") {
    const std::string text = GENERATE(
        as<std::string>{},
        // chat, with parameters before and after
        R"({"messages":[{"role":"user","content":"a"}^]})",
        R"({"model":"m","n":1,"messages":[{"a":"b"},{"c":[1,{}]}^],"stream":true,"stop":["x"]})",
        R"({"stop":["]"],"tools":[{"a":{"b":[]}}],"messages":[{}^]})", R"({"messages":[^]})",
        R"({"messages":["a"^]})", R"({"messages":[null^],"t":null})",
        // responses
        R"({"input":[{"role":"user"}^],"store":false})", R"({"input":"hello^","store":false})",
        // completions
        R"({"prompt":"once^"})", R"({"prompt":"^"})", R"({"prompt":[1,22,333^],"n_predict":5})",
        R"({"prompt":["a",7,"b"^]})", R"({"prompt":[[1],[2,3]^]})",
        // infill
        R"({"input_prefix":"int a^","input_suffix":"}"})",
        R"({"input_prefix":"int a","input_suffix":"}","prompt":"x^"})",
        R"({"prompt":"x","input_prefix":"int a^","input_suffix":"}"})",
        // whitespace
        "\r\n\t {\n  \"messages\" : [\n    {\"a\" : 1} ,\n    2^\n  ] ,\n  \"n\" : 1\n}\n",
        "{ \"prompt\"\t:\r\n \"a ^\" }", R"({"messages":[^  ]})",
        // what strings may hold
        R"({"prompt":"a\"b^"})", R"({"prompt":"\\^"})", R"({"prompt":"\\\"^","n":1})",
        R"({"prompt":"{[\u0022]}^","n":"\""})", R"({"messages":["]\"]","\\"^],"n":1})",
        "{\"prompt\":\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80^\"}",
        // keys and texts that only look like it
        R"({"x":{"messages":[1]},"prompt":"a^"})", R"({"user":"messages","messages":[1^]})",
        R"({"messages":[{"prompt":"b","input":[1]}^],"x":{"prompt":"c"},"y":["prompt","d"]})",
        R"({"a":"\"messages\":[","messages":[2^]})", R"({"messages":[2^],"prompt":null})",
        // of a key that is there twice the furthest counts
        R"({"messages":[1],"messages":[2^]})");
    const marked expected(text);
    INFO(expected.body);
    CHECK(conversation_extent(expected.body) == expected.extent);
    CHECK(continues_request(expected.body, expected.body));
}

TEST_CASE("without a conversation there is no extent, and nothing continues it") {
    const std::string body = GENERATE(
        as<std::string>{}, "", " ", "{", "{}", "[]", R"([{"messages":[1]}])", R"("messages")",
        R"({"x":{"messages":[{"role":"user"}]}})", R"({"x":["messages",[1]]})",
        R"({"x":"messages\":[1]"})", R"({"x":"\",\"messages\":[1]"})", R"({"Messages":[1]})",
        R"({"messages ":[1]})", R"({"messagesx":[1]})", R"({"message":[1]})", R"({"messages":1})",
        R"({"messages":null})", R"({"messages":{"a":[1]}})", R"({"messages")", R"({"messages":)",
        R"({"messages" [1]})", R"({messages:[1]})", R"(x{"messages":[1]})", R"({"model":"m)",
        R"({"content":"embedded text"})", "\xEF\xBB\xBF{\"messages\":[1]}");
    INFO(body);
    CHECK(conversation_extent(body) == 0);
    CHECK_FALSE(continues_request(body, body));
    CHECK_FALSE(continues_request(body, second_turn));
}

TEST_CASE("cut off within its conversation, all of a body counts") {
    const std::string before = R"({"model":"m","stop":["]"],)";
    const std::string key = GENERATE(as<std::string>{}, R"("messages": )", R"("prompt":)");
    const marked value(GENERATE(
        as<std::string>{}, R"([{"role":"user","content":"a \" \\ b"},{"c":[1,2]}^ ])",
        "\"a \\\" \xC3\xBC \\\\^\"", "[1,22^]", "[^]"));
    const std::string after = R"(,"n":[{"messages":"x"}],"s":"y"})";
    const auto body = before + key + value.body + after;
    const auto begin = before.size() + key.size();
    const auto end = begin + value.body.size();
    for (std::size_t size = 0; size <= body.size(); ++size) {
        const auto cut = std::string_view(body).substr(0, size);
        const std::size_t extent = size <= begin ? 0 : size < end ? size : begin + value.extent;
        INFO(cut);
        CHECK(conversation_extent(cut) == extent);
        CHECK(continues_request(cut, body) == (extent != 0));
        CHECK(continues_request(cut, cut) == (extent != 0));
        // Of the new one no more may be known than that it began alike.
        CHECK(continues_request(body, cut) == (extent != 0));
    }
}

TEST_CASE("a further turn continues a conversation") {
    CHECK(continues_request(first_turn, second_turn));
    CHECK(continues_request(
        R"({"prompt":"once upon","n_predict":8})",
        R"({"prompt":"once upon a time","n_predict":8})"));
    CHECK(continues_request(R"({"prompt":"abc"})", R"({"prompt":"abcdef"})"));
    CHECK(continues_request(R"({"prompt":""})", R"({"prompt":"abc"})"));
    CHECK(continues_request(R"({"messages":[]})", R"({"messages":[{"role":"user"}]})"));
    CHECK(continues_request(R"({"prompt":[1,2]})", R"({"prompt":[1,2,3]})"));
    CHECK(continues_request(R"({"prompt":[1,2]})", "{\"prompt\":[1,2\n,3]}"));
    CHECK(continues_request(R"({"input":"a","n":1})", R"({"input":"a\n\"b\"","n":1})"));
    CHECK(continues_request(
        R"({"input_prefix":"in","input_suffix":"}"})",
        R"({"input_prefix":"int a","input_suffix":";}"})"));
}

TEST_CASE("a request that is sent again continues the conversation") {
    CHECK(continues_request(first_turn, first_turn));
    // What follows the conversation may change.
    CHECK(continues_request(
        first_turn, R"({"model":"m","messages":[)" + system_1 + "," + user_1 +
                        R"(],"stream":false,"temperature":2})"));
}

TEST_CASE("another conversation does not continue this one") {
    const std::string other_system = R"({"role":"system","content":"be long"})";
    const std::string other_user = R"({"role":"user","content":"say nothing"})";
    // Another system prompt, an edited message, a turn taken back.
    CHECK_FALSE(continues_request(first_turn, chat(other_system + "," + user_1)));
    CHECK_FALSE(continues_request(first_turn, chat(system_1 + "," + other_user)));
    CHECK_FALSE(continues_request(
        second_turn, chat(system_1 + "," + user_1 + "," + answer_1 + "," + other_user)));
    CHECK_FALSE(continues_request(second_turn, first_turn));
    CHECK_FALSE(continues_request(first_turn, chat(system_1)));
    // A message that goes on is another message.
    CHECK_FALSE(continues_request(R"({"prompt":["ab"]})", R"({"prompt":["abc"]})"));
    CHECK_FALSE(continues_request(R"({"prompt":"abc"})", R"({"prompt":"abd"})"));
    CHECK_FALSE(continues_request(R"({"prompt":"abc"})", R"({"prompt":"ab"})"));
    // Of another kind, or with other parameters before it.
    CHECK_FALSE(continues_request(R"({"prompt":"a"})", R"({"input":"a"})"));
    CHECK_FALSE(continues_request(R"({"n":1,"prompt":"a"})", R"({"n":2,"prompt":"a"})"));
}

TEST_CASE("a number that goes on is another number") {
    const std::string last = GENERATE(as<std::string>{}, "[1,2]", "[1,2 ]", "[12]");
    const std::string next = GENERATE(as<std::string>{}, "[1,23]", "[1,23,4]", "[123]", "[1,2.5]");
    CHECK_FALSE(continues_request("{\"prompt\":" + last + "}", "{\"prompt\":" + next + "}"));
    // One that was cut off may be that number.
    CHECK(continues_request(R"({"prompt":[1,2)", R"({"prompt":[1,23]})"));
}

TEST_CASE("conversations with a long system prompt in common are told apart") {
    const std::string shared =
        R"({"role":"system","content":")" + std::string(60'000, 's') + R"("},)";
    const auto one = chat(shared + user_1);
    const auto other = chat(shared + user_2);
    CHECK_FALSE(continues_request(one, other));
    CHECK(continues_request(one, chat(shared + user_1 + "," + answer_1 + "," + user_2)));
    // But not where nothing else was looked at.
    CHECK(continues_request(one.substr(0, 50'000), other.substr(0, 50'000)));
}

TEST_CASE("a request of which too little has come is not taken for a continuation") {
    CHECK_FALSE(continues_request(first_turn, ""));
    CHECK_FALSE(continues_request(first_turn, R"({"model":"m","mess)"));
    CHECK(continues_request(second_turn, first_turn.substr(0, first_turn.find(']') - 5)));
}

TEST_CASE("no bytes lead beyond the text") {
    const std::vector<std::string> texts{
        R"({"prompt":"\)",
        R"({"\)",
        R"({"messages":]]]]})",
        R"({"messages":[}}}})",
        R"({"a":,,,)",
        R"({"a":}"messages":[1]})",
        std::string("{\"prompt\":\"\0\xFF\xC3", 13),
        "{\"messages\":" + std::string(100'000, '['),
        std::string(100'000, '{')};
    for (const auto& text : texts) {
        CHECK(conversation_extent(text) <= text.size());
        CHECK(continues_request(text, text) == (conversation_extent(text) != 0));
    }
}

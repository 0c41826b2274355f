#include "llama_hibernate/app/slot_action.hpp"

#include <string>

#include "catch.hpp"

using namespace hibernate;
using hibernate::app::read_slot_action;

namespace {

unsigned refused_with(std::string_view id, std::string_view query, std::optional<int> slots = 4) {
    const auto read = read_slot_action(id, query, slots);
    return read.action ? 0 : read.refusal.status;
}

unsigned body_refused_with(
    std::string_view body,
    std::optional<std::string_view> type = "application/json",
    std::optional<std::string_view> coding = std::nullopt) {
    const auto refusal = app::refuse_slot_file(body, type, coding);
    return refusal ? refusal->status : 0;
}

} // namespace

TEST_CASE("a slot action names a slot that there is, and one action") {
    const auto save = read_slot_action("3", "action=save", 4);
    REQUIRE(save.action);
    CHECK(save.action->slot == 3);
    CHECK_FALSE(save.action->displaces);
    CHECK(read_slot_action("0", "action=restore", 4).action->displaces);
    CHECK(read_slot_action("0", "x=1&%61ction=%65rase&", 4).action->displaces);
    CHECK(read_slot_action("99", "action=save", std::nullopt).action->slot == 99);
}

TEST_CASE("an id that llama-server would wrap around, or read its own way, is refused") {
    for (const char* id :
         {"4", "9", "-1", "+1", " 1", "1 ", "1abc", "0x1", "", "1/", "1/2",
          "99999999999999999999"}) {
        CAPTURE(id);
        CHECK(refused_with(id, "action=save") == 400);
    }
    CHECK(refused_with(std::string_view("0\0", 2), "action=save") == 400);
    CHECK(refused_with("1abc", "action=save", std::nullopt) == 400);
    CHECK(read_slot_action("4", "action=save", 4).refusal.type == "invalid_request_error");
}

TEST_CASE("no action, an unknown one, or several are refused") {
    for (const char* query :
         {"", "action=", "action=Save", "action=drop", "action", "x=1", "action=save&action=save",
          "action=save&action=restore", "action=save&%61ction=erase", "action=+save",
          "action=save&id_slot=9"}) {
        CAPTURE(query);
        CHECK(refused_with("0", query) == 400);
    }
}

TEST_CASE("a file of another name than ours passes") {
    CHECK(body_refused_with(R"({"filename":"mine"})") == 0);
    CHECK(body_refused_with(R"( {"x":{"filename":"a"},"filename":"b & c.kv"} )") == 0);
    CHECK(body_refused_with(R"({"filename":"mine"})", std::nullopt) == 0);
    // What curl says of everything.
    CHECK(body_refused_with(R"({"filename":"mine"})", "application/x-www-form-urlencoded") == 0);
    // llama-server's own answers are as good as ours; an erase needs no name.
    CHECK(body_refused_with("{}") == 0);
    CHECK(body_refused_with(R"({"filename":"../up"})") == 0);
}

TEST_CASE("a name that is ours is refused, however it is written") {
    for (const char* body :
         {R"({"filename":"0123456789abcdef.kv"})", R"({"filename":"0123456789ABCDEF.json"})",
          R"({"filename":"lock"})", R"({"filename":"staging-1-1.kv"})",
          R"({"filename":"\u006cock"})", R"({"file\u006eame":"lock"})"}) {
        CAPTURE(body);
        CHECK(body_refused_with(body) == 403);
    }
}

TEST_CASE("a body that does not show its file name is refused") {
    for (const char* body :
         {"", "null", R"(["filename"])", R"({"filename":"mine")", R"({"filename":"mine"}x)",
          R"({"filename":"mine","filename":"lock"})", R"({"filename":"lock","filename":"mine"})",
          R"({"filename":"mine","file\u006eame":"mine"})", R"({"filename":1})",
          R"({"filename":["mine"]})", R"({"filename":"mine\u0000.kv"})",
          R"({"filename":"a\nb"})"}) {
        CAPTURE(body);
        CHECK(body_refused_with(body) == 400);
    }
    const auto long_body = R"({"filename":"mine","x":")" + std::string(100, 'x');
    CHECK(body_refused_with(long_body) == 400);
}

TEST_CASE("a body that llama-server reads in another way is refused") {
    const auto* const body = R"({"a":"&action=restore&b","filename":"mine"})";
    CHECK(body_refused_with(body) == 0);
    CHECK(body_refused_with(body, "Application/X-WWW-Form-URLEncoded; charset=utf-8") == 400);
    CHECK(body_refused_with(R"({"filename":"mine"})", "multipart/form-data; boundary=x") == 400);
    CHECK(body_refused_with(R"({"filename":"mine"})", "application/json", "gzip") == 400);
}

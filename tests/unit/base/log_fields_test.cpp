#include "llama_hibernate/base/log_fields.hpp"

#include <vector>

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using log::field;

TEST_CASE("an event's figures follow its sentence") {
    const std::vector<field> fields{
        {"slot", 0}, {"bytes", std::uint64_t{1} << 40}, {"save_ms", 1500ms}, {"reason", "stop"}};
    CHECK(
        log::render_text("saved slot 0", fields) ==
        "saved slot 0; slot=0 bytes=1099511627776 save_ms=1500 reason=stop");
    CHECK(
        log::render_json("saved slot 0", fields) ==
        R"("saved slot 0","slot":0,"bytes":1099511627776,"save_ms":1500,"reason":"stop")");
    CHECK(log::render_text("alone", {}) == "alone");
    CHECK(log::render_json("alone", {}) == R"("alone")");
}

TEST_CASE("a value that is not one plain word is quoted") {
    const auto text = [](std::string_view value) {
        return log::render_text("x", std::vector<field>{{"v", value}});
    };
    CHECK(text("b1-abc/d.gguf") == "x; v=b1-abc/d.gguf");
    CHECK(text("") == R"(x; v="")");
    CHECK(text("two words") == R"(x; v="two words")");
    CHECK(text("a=b") == R"(x; v="a=b")");
    CHECK(text("a\"b\\") == R"(x; v="a\"b\\")");
}

TEST_CASE("strange bytes stay one line of valid text") {
    const std::vector<field> fields{{"name", "a\n\x1b[31m\xff"}};
    for (const auto& line :
         {log::render_text("x\r\ny\xc3", fields), log::render_json("x\r\ny\xc3", fields)}) {
        CAPTURE(line);
        CHECK(line.find_first_of("\r\n\x1b\xff\xc3") == std::string::npos);
        CHECK(line.find("x  y") != std::string::npos);
    }
    CHECK(
        log::render_json("\"quoted\"", fields) ==
        "\"\\\"quoted\\\"\",\"name\":\"a \xe2\x90\x9b[31m\xef\xbf\xbd\"");
}

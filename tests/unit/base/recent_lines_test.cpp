#include "llama_hibernate/base/recent_lines.hpp"

#include "catch.hpp"
#include "llama_hibernate/base/log.hpp"

using namespace hibernate;

TEST_CASE("the latest lines are kept, and all are counted") {
    log::recent_lines lines;
    for (std::size_t i = 0; i <= log::recent_lines::most; ++i) {
        lines.note({{}, log::level::info, std::to_string(i)});
    }
    CHECK(lines.count() == log::recent_lines::most + 1);
    REQUIRE(lines.all().size() == log::recent_lines::most);
    CHECK(lines.all().front().text == "1");
    CHECK(lines.all().back().text == std::to_string(log::recent_lines::most));
}

TEST_CASE("whatever the log is told is kept, but what is for debugging") {
    log::set_level(log::level::off);
    const auto before = log::recent().count();
    log::debug("of no interest");
    log::info("saved\a one");
    log::set_level(log::level::info);
    CHECK(log::recent().count() == before + 1);
    CHECK(log::recent().all().back().text == "saved\u2407 one");
}

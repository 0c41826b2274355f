#include "llama_hibernate/commands/progress_bar.hpp"

#include "catch.hpp"

using hibernate::commands::progress_line;

TEST_CASE("a progress line fills up and never exceeds the terminal") {
    CHECK(progress_line(0, 1024, 80).find("#") == std::string::npos);
    CHECK(progress_line(512, 1024, 80).find(" 50%  512 B of 1.00 KiB") != std::string::npos);
    CHECK(progress_line(1024, 1024, 80).find("# ]") == std::string::npos);
    CHECK(progress_line(2048, 1024, 80).find("100%") != std::string::npos);
    CHECK(progress_line(0, 0, 80).find("100%") != std::string::npos);
    for (std::size_t columns = 0; columns < 100; ++columns) {
        CHECK(progress_line(1'000'000, 3'000'000'000, columns).size() <= columns);
    }
}

#include "llama_hibernate/base/memory.hpp"

#include "catch.hpp"

using hibernate::available_memory;
using hibernate::parse_available_memory;

TEST_CASE("the available memory is read in bytes") {
    CHECK(
        parse_available_memory("MemTotal:  100 kB\nMemAvailable:   24012345 kB\nBuffers: 1 kB\n") ==
        24012345ULL * 1024);
    CHECK_FALSE(parse_available_memory(""));
    CHECK_FALSE(parse_available_memory("MemTotal:  100 kB\n"));
    CHECK_FALSE(parse_available_memory("MemAvailable:"));
    CHECK_FALSE(parse_available_memory("MemAvailable:   many"));
    CHECK_FALSE(parse_available_memory("MemAvailable: 18446744073709551615 kB"));
    CHECK(available_memory().value_or(1) > 0);
}

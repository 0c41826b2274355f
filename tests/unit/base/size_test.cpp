#include "llama_hibernate/base/size.hpp"

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;

TEST_CASE("a count agrees with its noun") {
    CHECK(hibernate::format_count(0, "slot", "slots") == "0 slots");
    CHECK(hibernate::format_count(1, "slot", "slots") == "1 slot");
    CHECK(hibernate::format_count(2, "slot", "slots") == "2 slots");
}

TEST_CASE("bytes are read as people write them") {
    CHECK(parse_bytes("0") == 0);
    CHECK(parse_bytes("4096") == 4096);
    CHECK(parse_bytes("64KiB") == 65536);
    CHECK(parse_bytes("512mib") == 536870912);
    CHECK(parse_bytes("16GiB") == 17179869184);
    CHECK(parse_bytes("1TiB") == 1099511627776);
    CHECK(parse_bytes("1.5GiB") == 1610612736);
    for (const auto* wrong :
         {"", "-1", "+1", "GiB", "16GB", "16G", "16 GiB", "1e3", "0x10", "1.2.3",
          "99999999999999999999", "9000000TiB", "nan", "inf"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_bytes(wrong));
    }
}

TEST_CASE("times are read as people write them") {
    CHECK(parse_duration("0") == 0ms);
    CHECK(parse_duration("8") == 8s);
    CHECK(parse_duration("8s") == 8s);
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("1.5s") == 1500ms);
    CHECK(parse_duration("3m") == 3min);
    CHECK(parse_duration("1h") == 1h);
    CHECK(parse_duration("2D") == 48h);
    for (const auto* wrong : {"", "-1s", "s", "8 s", "8sec", "1us", "4000d", "0x8"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_duration(wrong));
    }
}

TEST_CASE("large numbers are written in groups of three digits") {
    CHECK(format_number(0) == "0");
    CHECK(format_number(999) == "999");
    CHECK(format_number(1000) == "1,000");
    CHECK(format_number(61204) == "61,204");
    CHECK(format_number(18446744073709551615U) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes and times are written with three significant digits") {
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(format_bytes(1024) == "1.00 KiB");
    CHECK(format_bytes(482288) == "471 KiB");
    CHECK(format_bytes(1023 * 1024) == "1.00 MiB");
    CHECK(format_bytes(17179869184) == "16.0 GiB");
    CHECK(format_duration(0ms) == "0 ms");
    CHECK(format_duration(999ms) == "999 ms");
    CHECK(format_duration(1234ms) == "1.2 s");
    CHECK(format_duration(200s) == "3 min 20 s");
}

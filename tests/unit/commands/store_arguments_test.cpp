#include "llama_hibernate/commands/store_arguments.hpp"

#include "catch.hpp"

using hibernate::commands::read_store_arguments;
using hibernate::commands::store_request;
using verb = store_request::verb;

namespace {

store_request read(const std::vector<std::string>& arguments) {
    const auto reading = read_store_arguments(arguments);
    INFO(reading.text);
    REQUIRE(reading.request);
    return *reading.request;
}

} // namespace

TEST_CASE("each command of the store is read") {
    CHECK(read({"ls"}).what == verb::list);
    CHECK_FALSE(read({"ls"}).json);
    CHECK(read({"ls", "--json"}).json);
    CHECK(read({"show", "0123"}).ids == std::vector<std::string>{"0123"});
    CHECK(read({"verify"}).ids.empty());
    CHECK(read({"verify", "a", "b"}).ids == std::vector<std::string>{"a", "b"});
    CHECK(read({"gc"}).what == verb::collect);
    CHECK_FALSE(read({"gc"}).max_disk);
    CHECK(read({"gc", "--dry-run"}).dry_run);
    CHECK(read({"gc", "--max-disk", "1KiB"}).max_disk == 1024);
    CHECK(read({"gc", "--max-disk=0"}).max_disk == 0);
    CHECK(read({"rm", "a", "b"}).what == verb::remove);
    CHECK(read({"rm", "--model", "tiny"}).model == "tiny");
    CHECK(read({"rm", "--all"}).all);
    CHECK(read({"pin", "a"}).what == verb::pin);
    CHECK(read({"unpin", "a"}).what == verb::unpin);
    CHECK(read({"release", "a"}).what == verb::release);
}

TEST_CASE("a line that is not understood is refused with what is wrong, and status 2") {
    const auto line = GENERATE(
        std::vector<std::string>{}, std::vector<std::string>{"ls", "--jsom"},
        std::vector<std::string>{"ls", "a"}, std::vector<std::string>{"show"},
        std::vector<std::string>{"rm"}, std::vector<std::string>{"rm", "a", "--all"},
        std::vector<std::string>{"rm", "--all", "--model", "m"},
        std::vector<std::string>{"gc", "--max-disk", "much"},
        std::vector<std::string>{"gc", "--max-disk"}, std::vector<std::string>{"pin"});
    const auto reading = read_store_arguments(line);
    CHECK_FALSE(reading.request);
    CHECK(reading.status == 2);
    CHECK_FALSE(reading.text.empty());
}

TEST_CASE("the help of each command names the option for the store") {
    CHECK(read_store_arguments({"--help"}).text.find("--hibernate-dir DIR") != std::string::npos);
    for (const char* command : {"ls", "show", "verify", "gc", "rm", "pin", "unpin", "release"}) {
        CAPTURE(command);
        const auto text = read_store_arguments({command, "--help"}).text;
        CHECK(text.find("--hibernate-dir DIR") != std::string::npos);
    }
    CHECK(read_store_arguments({"release", "--help"}).text.find("retirement") != std::string::npos);
}

TEST_CASE("help is asked for with status 0") {
    for (const auto& line :
         {std::vector<std::string>{"--help"}, std::vector<std::string>{"gc", "--help"}}) {
        const auto reading = read_store_arguments(line);
        CHECK_FALSE(reading.request);
        CHECK(reading.status == 0);
        CHECK(reading.text.find("gc") != std::string::npos);
    }
}

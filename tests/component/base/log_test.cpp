#include "llama_hibernate/base/log.hpp"

#include <fcntl.h>
#include <regex>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"

using namespace hibernate;

namespace {

struct pipe_ends {
    int read_end = -1;
    int write_end = -1;
    pipe_ends() {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        read_end = ends[0];
        write_end = ends[1];
    }
    ~pipe_ends() {
        log::set_descriptor(STDERR_FILENO);
        log::set_format(log::format::text, "");
        close(read_end);
        close(write_end);
    }
    std::string read_available() const {
        std::string all;
        char buffer[65536];
        fcntl(read_end, F_SETFL, O_NONBLOCK);
        for (ssize_t count = 0; (count = read(read_end, buffer, sizeof buffer)) > 0;) {
            all.append(buffer, static_cast<std::size_t>(count));
        }
        return all;
    }
};

} // namespace

TEST_CASE("a pipe that nobody reads never blocks us, and the loss is told afterwards") {
    const pipe_ends pipe;
    log::set_descriptor(pipe.write_end);

    for (int i = 0; i != 5000; ++i) {
        log::info("line {} {}", i, std::string(100, 'x')); // would need ten times the pipe's room
    }
    const auto first = pipe.read_available();
    CHECK(first.find("line 0 ") != std::string::npos);

    log::info("after");
    const auto second = pipe.read_available();
    CHECK(second.find("log lines were dropped") != std::string::npos);
    CHECK(second.find("after") != std::string::npos);

    SECTION("the flag is ours alone: who shares the pipe still writes as before") {
        CHECK((fcntl(pipe.write_end, F_GETFL) & O_NONBLOCK) == 0);
    }
}

TEST_CASE("a line is the time, the level, a sentence and its figures") {
    const pipe_ends pipe;
    log::set_descriptor(pipe.write_end);
    log::write(log::level::warning, "one {} event", {{"count", 1}, {"name", "a b"}});
    CHECK(std::regex_match(
        pipe.read_available(),
        std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} llama-hibernate warning: )"
                   R"(one \{\} event; count=1 name="a b"\n)")));
}

TEST_CASE("as JSON every line is an object, the count of dropped ones too") {
    const pipe_ends pipe;
    log::set_descriptor(pipe.write_end);
    log::set_format(log::format::json, "");
    CHECK(log::is_for_programs());
    for (int i = 0; i != 5000; ++i) {
        log::write(log::level::info, "a \"line\" " + std::string(100, 'x'), {{"number", i}});
    }
    const auto written = pipe.read_available();
    const auto first = nlohmann::json::parse(written.substr(0, written.find('\n')));
    CHECK(first["level"] == "info");
    CHECK(first["number"] == 0);
    CHECK(first["message"].get<std::string>().starts_with("a \"line\" x"));
    CHECK(std::regex_match(
        first["time"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));

    log::error("after");
    const auto rest = pipe.read_available();
    const auto end = rest.find('\n');
    const auto dropped = nlohmann::json::parse(rest.substr(0, end));
    CHECK(dropped["level"] == "warning");
    CHECK(dropped["dropped"].get<int>() > 1000);
    CHECK(nlohmann::json::parse(rest.substr(end))["message"] == "after");
}

TEST_CASE("the journal gets priorities, and no time that it has itself") {
    struct stat about {};
    REQUIRE(fstat(STDERR_FILENO, &about) == 0);
    const auto own = std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
    const pipe_ends pipe;
    log::set_descriptor(pipe.write_end);
    log::set_format(log::format::text, own);
    log::set_level(log::level::debug);
    log::debug("d");
    log::info("i");
    log::warning("w");
    log::error("e");
    log::set_level(log::level::info);
    CHECK(
        pipe.read_available() == "<7>llama-hibernate debug: d\n<6>llama-hibernate info: i\n"
                                 "<4>llama-hibernate warning: w\n<3>llama-hibernate error: e\n");
    log::set_format(log::format::json, own);
    log::info("i");
    CHECK(pipe.read_available().starts_with("<6>{\"time\":\""));

    SECTION("another stream than the journal's is not the journal") {
        log::set_format(log::format::text, own + "0");
        CHECK_FALSE(log::is_for_programs());
        log::info("i");
        CHECK(pipe.read_available().starts_with("2"));
    }
}

TEST_CASE("lines below the level are not written") {
    const pipe_ends pipe;
    log::set_descriptor(pipe.write_end);
    log::set_level(log::level::warning);
    log::info("quiet");
    log::warning("loud");
    log::set_level(log::level::info);
    const auto text = pipe.read_available();
    CHECK(text.find("quiet") == std::string::npos);
    CHECK(text.find("loud") != std::string::npos);
}

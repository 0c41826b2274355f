#include "llama_hibernate/base/log.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>

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

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/process/child.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "catch.hpp"
#include "llama_hibernate/base/platform.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::process;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

namespace {

command shell(const std::string& script) {
    return {"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin", "MARK=set"}};
}

exit_report run(const command& what) {
    asio::io_context context;
    auto started = child::launch(context, what);
    REQUIRE(started.has_value());
    exit_report report;
    const auto body = [&]() -> awaitable<void> { report = co_await started->wait(); };
    asio::co_spawn(context, body, asio::detached);
    context.run();
    CHECK_FALSE(started->running());
    return report;
}

/// A file that is removed when it goes out of scope.
struct scratch_file {
    fs::path path;
    scratch_file() {
        auto name = (fs::temp_directory_path() / "hibernate-child-XXXXXX").string();
        const int descriptor = mkstemp(name.data());
        REQUIRE(descriptor >= 0);
        close(descriptor);
        path = name;
    }
    ~scratch_file() { fs::remove(path); }
    std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path).rdbuf();
        return all.str();
    }
};

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit = 5s) {
    const auto deadline = clock_type::now() + limit;
    while (!condition()) {
        if (clock_type::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

/// Gone, or a zombie that some other process has to reap.
bool is_dead(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    return !std::getline(stat, line) || line.find(") Z ") != std::string::npos;
}

bool has_children() {
    return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

} // namespace

TEST_CASE("a child's exit code and its signal are told apart") {
    CHECK(run(shell("exit 0")).shell_status() == 0);
    CHECK(run(shell("exit 7")).shell_status() == 7);
    const auto killed = run(shell("kill -SEGV $$"));
    CHECK(killed.signal == SIGSEGV);
    CHECK(killed.shell_status() == 128 + SIGSEGV);
    const auto looks_alike = run(shell("exit 11"));
    CHECK(looks_alike.signal == 0);
    CHECK(looks_alike.shell_status() == 11);
    CHECK_FALSE(has_children());
}

TEST_CASE("the environment and the arguments arrive as given") {
    CHECK(
        run({"/bin/sh",
             {"-c", "test \"$MARK\" = 'a b' && test -z \"$HOME\" && test \"$1\" = \"x'\\\" y\"",
              "sh", "x'\" y"},
             {"PATH=/usr/bin:/bin", "MARK=a b"}})
            .shell_status() == 0);
}

TEST_CASE("no descriptor of ours is in the child, stdin is empty") {
    asio::io_context context;
    // A listener, a connected pair and a plain file: none of them marked close-on-exec by Asio.
    asio::ip::tcp::acceptor listener(context, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket client(context);
    client.connect(listener.local_endpoint());
    auto accepted = listener.accept();
    const scratch_file open_file;
    std::FILE* file = std::fopen(open_file.path.c_str(), "r");

    const scratch_file seen;
    run(shell(
        "for f in /proc/self/fd/*; do echo \"${f##*/} $(readlink $f)\"; done > " +
        seen.path.string() + "; cat >> " + seen.path.string()));
    std::fclose(file);

    const auto text = seen.text();
    INFO(text);
    CHECK(text.find("socket:") == std::string::npos);
    CHECK(text.find(open_file.path.string()) == std::string::npos);
    CHECK(text.find("0 /dev/null") != std::string::npos);
}

TEST_CASE("the child leads its own session, with SIGTERM blocked and no signal ignored") {
    for (const int one : {SIGPIPE, SIGINT, SIGHUP}) { // as after nohup, or in the background
        std::signal(one, SIG_IGN);
    }
    // Not through a shell: dash clears the signal mask.
    const scratch_file status, stat_line;
    run({"/bin/cp", {"/proc/self/status", status.path.string()}, {}});
    run({"/bin/cp", {"/proc/self/stat", stat_line.path.string()}, {}});
    for (const int one : {SIGPIPE, SIGINT, SIGHUP}) {
        std::signal(one, SIG_DFL);
    }
    const auto text = status.text();

    const auto field = [&](const std::string& name) {
        const auto at = text.find(name + ":\t");
        return std::stoull(text.substr(at + name.size() + 2, 16), nullptr, 16);
    };
    CHECK(field("SigBlk") == 1ULL << (SIGTERM - 1));
    CHECK(field("SigIgn") == 0);

    // pid (comm) state ppid pgrp session: the last two are the child's own pid.
    std::istringstream stat(stat_line.text().substr(stat_line.text().rfind(')') + 1));
    std::string state;
    int parent = 0, group = 0, session = 0;
    stat >> state >> parent >> group >> session;
    CHECK(parent == getpid());
    CHECK(group == session);
    CHECK(session != getsid(0));
}

TEST_CASE("a refused start says why and leaves no zombie") {
    asio::io_context context;
    const auto missing = child::launch(context, {"/nonexistent/llama-server", {}, {}});
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error() == boost::system::errc::no_such_file_or_directory);
    CHECK(launch_failure_status(missing.error()) == 127);

    const scratch_file not_executable;
    const auto denied = child::launch(context, {not_executable.path.string(), {}, {}});
    REQUIRE_FALSE(denied.has_value());
    CHECK(denied.error() == boost::system::errc::permission_denied);
    CHECK(launch_failure_status(denied.error()) == 126);

    fs::permissions(not_executable.path, fs::perms::owner_all);
    std::ofstream(not_executable.path) << "\x7f"
                                          "ELF nonsense";
    const auto nonsense = child::launch(context, {not_executable.path.string(), {}, {}});
    REQUIRE_FALSE(nonsense.has_value());
    CHECK(launch_failure_status(nonsense.error()) == 126);

    CHECK_FALSE(has_children());
}

TEST_CASE("the event loop goes on while the child lives, closes its streams and dies") {
    asio::io_context context;
    auto started = child::launch(context, shell("exec >&- 2>&-; sleep 0.3; exit 3"));
    REQUIRE(started.has_value());

    exit_report report;
    bool ended = false;
    auto longest_gap = 0ms;
    const auto wait_for_it = [&]() -> awaitable<void> {
        report = co_await started->wait();
        ended = true;
    };
    const auto tick = [&]() -> awaitable<void> {
        asio::steady_timer timer(context);
        auto last = clock_type::now();
        while (!ended) {
            timer.expires_after(5ms);
            co_await timer.async_wait(use_awaitable);
            const auto now = clock_type::now();
            longest_gap = std::max(
                longest_gap, std::chrono::duration_cast<std::chrono::milliseconds>(now - last));
            last = now;
        }
    };
    asio::co_spawn(context, wait_for_it, asio::detached);
    asio::co_spawn(context, tick, asio::detached);
    context.run();
    CHECK(report.code == 3);
    CHECK(longest_gap < 200ms);
}

TEST_CASE("what the child leaves behind in its group dies with it") {
    const scratch_file pid_file;
    CHECK(run(shell("sleep 600 & echo $! > " + pid_file.path.string() + "; exit 0")).code == 0);
    const int straggler = std::stoi(pid_file.text());
    CHECK(eventually([&] { return is_dead(straggler); }));
}

TEST_CASE("destroying the child object ends the process") {
    asio::io_context context;
    int pid = 0;
    {
        auto started = child::launch(context, shell("trap '' INT TERM; exec sleep 600"));
        REQUIRE(started.has_value());
        pid = started->pid();
        CHECK(kill(pid, 0) == 0);
    }
    CHECK(kill(pid, 0) != 0);
    CHECK_FALSE(has_children());
}

#if defined(HIBERNATE_LINUX)
TEST_CASE("the child dies within a second when we are killed") {
    const scratch_file pid_file;
    const pid_t middle = fork();
    if (middle == 0) {
        asio::io_context context;
        const auto started = child::launch(context, shell("trap '' INT TERM HUP; exec sleep 600"));
        std::ofstream(pid_file.path) << (started ? started->pid() : -1) << std::endl;
        pause();
        _exit(0);
    }
    REQUIRE(middle > 0);
    REQUIRE(eventually([&] { return !pid_file.text().empty(); }));
    const int grandchild = std::stoi(pid_file.text());
    REQUIRE(grandchild > 0);
    REQUIRE(kill(grandchild, 0) == 0);

    kill(middle, SIGKILL);
    waitpid(middle, nullptr, 0);
    CHECK(eventually([&] { return is_dead(grandchild); }, 1s));
}
#endif

TEST_CASE("programs are found as a shell finds them") {
    CHECK(find_program("sh", "/nonexistent:/usr/bin:/bin") == "/usr/bin/sh");
    CHECK(find_program("./sh", "/usr/bin") == "./sh");
    CHECK(find_program("surely-not-there", "/usr/bin:/bin").empty());
    CHECK(find_program("sh", "").empty());
}

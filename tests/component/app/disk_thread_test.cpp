#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "catch.hpp"

using hibernate::awaitable;
namespace asio = boost::asio;
using hibernate::app::disk_thread;
using namespace std::chrono_literals;

namespace {

struct bench {
    asio::io_context network;
    disk_thread disk{network};

    template <typename T>
    T result_of(awaitable<T> task) {
        auto result = asio::co_spawn(network, std::move(task), asio::use_future);
        network.restart();
        network.run();
        return result.get();
    }
};

} // namespace

TEST_CASE("work runs on another thread and its result comes back") {
    bench at;
    const auto where = at.result_of(at.disk.run([] { return std::this_thread::get_id(); }));
    CHECK(where != std::this_thread::get_id());
    CHECK_FALSE(at.disk.busy());
}

TEST_CASE("what work throws comes back as well") {
    bench at;
    const auto fails = []() -> int { throw std::runtime_error("broken"); };
    CHECK_THROWS_AS(at.result_of(at.disk.run(fails)), std::runtime_error);
    CHECK_FALSE(at.disk.busy());
}

TEST_CASE("nobody waits for a slow disk beyond the deadline") {
    bench at;
    std::promise<void> goes_on;
    const auto slow = [wait = goes_on.get_future().share()] {
        wait.wait();
        return 1;
    };
    const auto deadline = std::chrono::steady_clock::now() + 20ms;
    const auto result = at.result_of(at.disk.run_until(deadline, slow));
    CHECK_FALSE(result);
    CHECK(at.disk.busy());

    goes_on.set_value();
    const auto never = std::chrono::steady_clock::time_point::max();
    CHECK(at.result_of(at.disk.run_until(never, [] { return 2; })) == std::optional(2));
    CHECK_FALSE(at.disk.busy());
}

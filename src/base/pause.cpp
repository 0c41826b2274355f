#include "llama_hibernate/base/pause.hpp"

#include "llama_hibernate/base/awaitable.hpp"
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace hibernate {

namespace asio = boost::asio;

awaitable<void> pause(std::chrono::milliseconds time) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(use_awaitable);
}

} // namespace hibernate

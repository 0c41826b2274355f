// Both ends of event streams, for tests/bench/proxy.sh.
//
//     bench_sse source PORT                     GET /RATE: chunks of one event, RATE a second (0:
//     one alone) bench_sse client PORT STREAMS RATE SECONDS   prints how many events came, once all
//     streams have one
//
// The client prints "ready" when every stream has its first event, and counts from there.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

/// About what llama-server sends for one token of a chat.
constexpr std::string_view event =
    "6d\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
    "token\"}}],\"id\":\"chatcmpl-0123"
    "456789\",\"object\":\"chunk\"}   \n\n\r\n";

tcp::endpoint loopback(const char* port) {
    const auto number = static_cast<std::uint16_t>(std::atoi(port));
    return {asio::ip::address_v4::loopback(), number};
}

asio::awaitable<void> stream_events(tcp::socket socket) {
    std::string request;
    auto buffer = asio::dynamic_buffer(request);
    co_await asio::async_read_until(socket, buffer, "\r\n\r\n", asio::use_awaitable);
    constexpr std::size_t target = 5; // behind "GET /"
    const int rate = std::atoi(request.c_str() + target);
    std::string first = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n";
    first += event;
    const auto first_bytes = asio::buffer(first);
    co_await asio::async_write(socket, first_bytes, asio::use_awaitable);
    asio::steady_timer timer(socket.get_executor());
    const auto bytes = asio::buffer(event.data(), event.size());
    const auto pause = rate == 0 ? 3600s : std::chrono::nanoseconds(1s) / rate;
    timer.expires_after(0s);
    for (;;) {
        timer.expires_at(timer.expiry() + pause);
        co_await timer.async_wait(asio::use_awaitable);
        co_await asio::async_write(socket, bytes, asio::use_awaitable);
    }
}

asio::awaitable<void> serve(tcp::acceptor& acceptor) {
    for (;;) {
        tcp::socket socket(acceptor.get_executor());
        co_await acceptor.async_accept(socket, asio::use_awaitable);
        socket.set_option(tcp::no_delay(true));
        asio::co_spawn(acceptor.get_executor(), stream_events(std::move(socket)), asio::detached);
    }
}

struct tally {
    std::size_t streams = 0; ///< that have had their first event
    std::uint64_t bytes = 0;
};

asio::awaitable<void> read_events(tcp::endpoint server, std::string rate, tally& all) {
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket socket(executor);
    co_await socket.async_connect(server, asio::use_awaitable);
    const std::string request = "GET /" + rate + " HTTP/1.1\r\nHost: bench\r\n\r\n";
    const auto bytes = asio::buffer(request);
    co_await asio::async_write(socket, bytes, asio::use_awaitable);
    std::string head;
    auto buffer = asio::dynamic_buffer(head);
    co_await asio::async_read_until(socket, buffer, "data:", asio::use_awaitable);
    ++all.streams;
    std::array<char, 16384> piece;
    const auto into = asio::buffer(piece);
    for (;;) {
        const auto size = co_await socket.async_read_some(into, asio::use_awaitable);
        all.bytes += size;
    }
}

asio::awaitable<void>
count(asio::io_context& context, std::size_t streams, int seconds, tally& all) {
    asio::steady_timer timer(context);
    while (all.streams < streams) {
        timer.expires_after(10ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
    std::cout << "ready" << std::endl;
    const auto before = all.bytes;
    timer.expires_after(std::chrono::seconds(seconds));
    co_await timer.async_wait(asio::use_awaitable);
    std::cout << (all.bytes - before) / event.size() << std::endl;
    context.stop();
}

} // namespace

int main(int argc, char** argv) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    asio::io_context context(1);
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "source" && argc == 3) {
        tcp::acceptor acceptor(context, loopback(argv[2]));
        asio::co_spawn(context, serve(acceptor), asio::detached);
        context.run();
        return 0;
    }
    if (mode == "client" && argc == 6) {
        const auto streams = static_cast<std::size_t>(std::atoi(argv[3]));
        tally all;
        for (std::size_t one = 0; one < streams; ++one) {
            asio::co_spawn(context, read_events(loopback(argv[2]), argv[4], all), asio::detached);
        }
        asio::co_spawn(context, count(context, streams, std::atoi(argv[5]), all), asio::detached);
        context.run();
        return 0;
    }
    std::cerr << "usage: bench_sse source PORT | client PORT STREAMS RATE SECONDS\n";
    return 2;
}

// Long streams: nothing waits, nothing gathers, and whoever stops reading is waited for.

#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;

namespace {

/// The proxy's end of a connection, which is in this process as well.
int other_end(peer& of) {
    const auto here = of.socket().local_endpoint();
    constexpr int more_than_we_open = 1024;
    for (int descriptor = 0; descriptor < more_than_we_open; ++descriptor) {
        tcp::endpoint there;
        auto size = static_cast<socklen_t>(there.capacity());
        if (getpeername(descriptor, there.data(), &size) == 0 && there == here) {
            return descriptor;
        }
    }
    FAIL("the other end is not in this process");
    return -1;
}

int option_of(int descriptor, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    getsockopt(descriptor, level, name, &value, &size);
    return value;
}

/// Bytes of which no two stretches are alike.
std::string piece_number(std::size_t number) {
    std::string piece(100'000, '\0');
    for (std::size_t at = 0; at < piece.size(); ++at) {
        piece[at] = static_cast<char>((at * 7919 + number * 104'729) / 251);
    }
    return piece;
}

// Well beyond what the sockets between us take, which is some ten megabytes.
constexpr std::size_t far_too_much = std::size_t{96} * 1024 * 1024;

/// Sends until the other side has taken nothing for a while; what it took.
awaitable<std::string> send_until_stuck(proxy_world& world, peer& from) {
    std::string sent;
    int without_progress = 0;
    for (std::size_t number = 0; without_progress < 20 && sent.size() < far_too_much; ++number) {
        const auto piece = piece_number(number);
        std::size_t taken = 0;
        without_progress = 0;
        while (taken < piece.size() && without_progress < 20) {
            const auto now = from.send_what_fits(std::string_view(piece).substr(taken));
            taken += now;
            without_progress = now > 0 ? 0 : without_progress + 1;
            asio::steady_timer moment(world.context, 1ms);
            co_await moment.async_wait(use_awaitable);
        }
        sent += piece.substr(0, taken);
    }
    co_return sent;
}

} // namespace

TEST_CASE("small writes leave at once on both sides, and vanished clients are noticed") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        const int to_client = other_end(client);
        CHECK(option_of(to_client, IPPROTO_TCP, TCP_NODELAY) == 1);
        CHECK(option_of(to_client, SOL_SOCKET, SO_KEEPALIVE) == 1);
        CHECK(option_of(other_end(child), IPPROTO_TCP, TCP_NODELAY) == 1);
#ifdef TCP_KEEPIDLE
        // Within two minutes, while a prompt is computed and nothing is sent.
        const int noticed_after = option_of(to_client, IPPROTO_TCP, TCP_KEEPIDLE) +
                                  option_of(to_client, IPPROTO_TCP, TCP_KEEPINTVL) *
                                      option_of(to_client, IPPROTO_TCP, TCP_KEEPCNT);
        CHECK(noticed_after <= 120);
#endif
    });
}

TEST_CASE("a stream has no time limit, before its first byte and between two") {
    auto settings = loopback_settings();
    settings.head_deadline = 20ms;
    settings.idle_timeout = 20ms;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        asio::steady_timer ten_times(world.context);
        const std::string parts[] = {"HTTP/1.1 200 OK\r\n", "\r\n", "data: a\n\n", "data: b\n\n"};
        for (const auto& part : parts) {
            ten_times.expires_after(200ms);
            co_await ten_times.async_wait(use_awaitable);
            co_await child.send(part);
        }
        child.close();
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes.ends_with("\r\n\r\ndata: a\n\ndata: b\n\n"));
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("a child is held up when its client stops reading, and nothing is lost") {
    const bool chunked = GENERATE(false, true);
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(
            chunked ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "fffffff\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 268435455\r\n\r\n");
        const auto sent = co_await send_until_stuck(world, child);
        CHECK(sent.size() < far_too_much / 2);
        co_await client.receive_head();
        if (chunked) {
            co_await client.receive(9);
        }
        const auto received = co_await client.receive(sent.size());
        CHECK((received == sent));
        // It goes on as if nothing had been.
        co_await child.send("on");
        const auto rest = co_await client.receive(2);
        CHECK(rest == "on");
    });
}

TEST_CASE("a client is held up when the child stops reading, and nothing is lost") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 900000000\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        const auto sent = co_await send_until_stuck(world, client);
        CHECK(sent.size() < far_too_much / 2);
        const auto received = co_await child.receive(sent.size());
        CHECK((received == sent));
    });
}

TEST_CASE("a client that resets is noticed while the child takes nothing of its body") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 900000000\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await send_until_stuck(world, client);
        client.reset();
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK(world.hooks.outcomes == std::vector{outcome::client_gone});
        co_await child.receive_rest();
    });
}

// The server as its owner uses it.

#include <stdexcept>
#include <string>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "catch.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/error.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;
using asio::experimental::awaitable_operators::operator||;

namespace {} // namespace

TEST_CASE("the owner is asked before the child sees a request, and may take its time") {
    proxy_world world;
    asio::steady_timer released(world.context, std::chrono::steady_clock::time_point::max());
    world.hooks.before = [&](const auto&) -> awaitable<void> {
        error_code error;
        co_await released.async_wait(asio::redirect_error(use_awaitable, error));
    };
    world.run([&]() -> awaitable<void> {
        const std::string body(200'000, 'b');
        auto client = co_await world.connect();
        co_await client.send(
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + body);
        co_await world.until([&] { return world.hooks.forwarded.size() == 1; });
        co_await world.settle();
        released.cancel();
        auto child = co_await world.accept();
        const auto request = co_await child.receive_message();
        CHECK(request.ends_with("\r\n\r\n" + body));
        CHECK(world.hooks.outcomes.empty());
        co_await child.send(ok);
        co_await client.receive_message();
        co_await world.server->drained();
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("an owner that fails costs the client its request, and nothing else") {
    proxy_world world;
    world.hooks.before = [&](const auto&) -> awaitable<void> {
        throw std::runtime_error("no");
        co_return;
    };
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        const auto response = co_await client.receive_message();
        CHECK(response.starts_with("HTTP/1.1 500 "));
        CHECK(world.hooks.outcomes.size() == 1);
        world.hooks.before = nullptr;
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
    });
}

TEST_CASE("drained() waits for the last exchange") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        co_await world.server->drained();
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        co_await client.receive_head();
        CHECK(world.server->exchanges_in_flight() == 1);

        asio::steady_timer moment(world.context, 10ms);
        auto drained = world.server->drained();
        auto elapsed = moment.async_wait(use_awaitable);
        const auto first = co_await (std::move(drained) || std::move(elapsed));
        CHECK(first.index() == 1);

        co_await child.send("ok");
        co_await world.server->drained();
        CHECK(world.server->exchanges_in_flight() == 0);
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("cutting ends everything at once, wherever it stands") {
    proxy_world world;
    asio::steady_timer never(world.context, std::chrono::steady_clock::time_point::max());
    world.hooks.before = [&](const hibernate::proxy::request_view& request) -> awaitable<void> {
        if (request.path == "/kept-back") {
            co_await never.async_wait(use_awaitable);
        }
    };
    world.run([&]() -> awaitable<void> {
        auto idle = co_await world.connect();
        auto kept_back = co_await world.connect();
        co_await kept_back.send("GET /kept-back HTTP/1.1\r\nHost: h\r\n\r\n");
        auto waiting = co_await world.connect();
        co_await waiting.send(get);
        auto first = co_await world.accept();
        co_await first.receive_head();
        auto streaming = co_await world.connect();
        co_await streaming.send(get);
        auto second = co_await world.accept();
        co_await second.receive_head();
        co_await second.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        co_await streaming.receive_head();
        auto tunnelled = co_await world.connect();
        co_await tunnelled.send(
            "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
        auto third = co_await world.accept();
        co_await third.receive_head();
        co_await third.send("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n");
        co_await tunnelled.receive_head();
        co_await world.until([&] { return world.hooks.forwarded.size() == 4; });

        world.server->cut_connections();
        CHECK(world.hooks.outcomes == std::vector(4, outcome::cut));
        co_await first.closed();
        co_await second.closed();
        co_await third.closed();
        co_await idle.closed();
        co_await kept_back.closed();
        co_await waiting.closed();
        co_await streaming.closed();
        co_await tunnelled.closed();
        co_await world.server->drained();
        CHECK(world.hooks.outcomes.size() == 4);
    });
}

TEST_CASE("a held probe is cut as well") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        world.server->cut_connections();
        co_await client.closed();
        co_await world.server->drained();
    });
}

TEST_CASE("a server may go with exchanges in flight, and its owner is told of each") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        world.server.reset();
        CHECK(world.hooks.outcomes == std::vector{outcome::cut});
        co_await client.closed();
        co_await child.closed();
    });
    CHECK(world.hooks.outcomes.size() == 1);
}

TEST_CASE("a stopped loop may be destroyed with everything in flight") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        world.gate.hold("restoring");
        auto held = co_await world.connect();
        co_await held.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 2; });
    });
    // The sanitizers judge the rest.
}

TEST_CASE("without a child there is nothing to forward to") {
    asio::io_context context;
    hibernate::proxy::gate gate(context, 1s);
    hibernate::proxy::hooks hooks;
    hibernate::proxy::server server(context, loopback_settings(), gate, hooks);
    REQUIRE_FALSE(server.listen());
    gate.open();
    const auto url = server.urls().at(0);
    const auto port = static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
    tcp::socket socket(context);
    socket.connect({asio::ip::address_v4::loopback(), port});
    peer client(std::move(socket));
    std::string response;
    const auto body = [&]() -> awaitable<void> {
        co_await client.send(get);
        response = co_await client.receive_message();
        context.stop();
    };
    asio::co_spawn(context, body(), [](const std::exception_ptr&) {});
    context.run_for(10s);
    CHECK(response.starts_with("HTTP/1.1 503 "));
}

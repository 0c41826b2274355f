// Which connections to the child are used again, and what happens when the child closes one.

#include <string>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;

namespace {

const std::string post_b = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";

hibernate::proxy::server_settings keeping(std::size_t most) {
    auto settings = loopback_settings();
    settings.kept_upstream = most;
    return settings;
}

struct keeping_world : proxy_world {
    explicit keeping_world(std::size_t most = 4) : proxy_world(keeping(most)) {}

    /// A client and the child's end of the connection that its first request left.
    struct pair {
        peer client;
        peer child;
    };
    awaitable<pair> served(std::string request = get, std::string response = ok) {
        auto client = co_await connect();
        co_await client.send(request);
        auto child = co_await accept();
        const auto head = co_await child.receive_head();
        CHECK(head.find("Connection:") == std::string::npos);
        co_await child.send(response);
        co_await client.receive_head();
        co_await server->drained();
        client.pending();
        pair both{std::move(client), std::move(child)};
        co_return both;
    }

    /// The client's next request comes on a new connection, and is answered there.
    awaitable<void> next_is_new(peer& client) {
        co_await client.send(get);
        auto child = co_await accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    }
};

} // namespace

TEST_CASE("the requests of one client reach the child on one connection") {
    const std::string request =
        GENERATE(as<std::string>{}, get, "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string in_chunks =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    const std::string response = GENERATE_COPY(as<std::string>{}, ok, in_chunks);
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served(get, response);
        for (int count = 0; count < 3; ++count) {
            co_await both.client.send(get);
            co_await both.child.receive_head();
            co_await both.child.send(response);
            const auto received = co_await both.client.receive(response.size());
            CHECK(received == response);
        }
        co_await both.client.send(request);
        co_await both.child.receive_head();
        CHECK_FALSE(world.child_was_called());
        both.client.close();
        co_await both.child.closed();
    });
}

TEST_CASE("a POST always has a connection of its own") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        for (int count = 0; count < 2; ++count) {
            co_await both.client.send(post_b);
            auto own = co_await world.accept();
            const auto request = co_await own.receive_message();
            CHECK(request.ends_with("\r\nConnection: close\r\n\r\n{}"));
            co_await own.send(ok);
            const auto response = co_await both.client.receive_message();
            CHECK(response == ok);
            co_await own.closed();
        }
        co_await both.child.closed();
    });
}

TEST_CASE("a POST is not sent again") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        co_await both.client.send(post_b);
        auto own = co_await world.accept();
        co_await own.receive_message();
        own.close();
        const auto response = co_await both.client.receive_message();
        CHECK(response.starts_with("HTTP/1.1 502 "));
        CHECK_FALSE(world.child_was_called());
    });
}

TEST_CASE("a connection that the child closed while it waited is not used") {
    const bool reset = GENERATE(false, true);
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        if (reset) {
            both.child.reset();
        } else {
            both.child.close();
        }
        co_await world.next_is_new(both.client);
        CHECK(world.hooks.outcomes == std::vector(2, outcome::complete));
    });
}

TEST_CASE("a GET that meets the child's close is sent once more, on a new connection") {
    const bool again = GENERATE(false, true);
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        co_await both.client.send(get);
        const auto first = co_await both.child.receive_head();
        both.child.close();
        auto fresh = co_await world.accept();
        const auto second = co_await fresh.receive_head();
        CHECK(second == first);
        if (again) {
            fresh.close();
            const auto response = co_await both.client.receive_message();
            CHECK(response.starts_with("HTTP/1.1 502 "));
            CHECK_FALSE(world.child_was_called());
        } else {
            co_await fresh.send(ok);
            const auto response = co_await both.client.receive_message();
            CHECK(response == ok);
            CHECK(world.hooks.outcomes == std::vector(2, outcome::complete));
        }
        CHECK(world.hooks.forwarded.size() == 2);
    });
}

TEST_CASE("after a byte of its response, a GET is not sent again") {
    const std::string begun =
        GENERATE(as<std::string>{}, "H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early\r\n\r\n");
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        co_await both.client.send(get);
        co_await both.child.receive_head();
        co_await both.child.send(begun);
        both.child.close();
        const auto response = co_await both.client.receive_until("}}");
        CHECK(response.find("HTTP/1.1 502 ") != std::string::npos);
        CHECK_FALSE(world.child_was_called());
    });
}

TEST_CASE("a connection is closed after a response behind which nobody knows what follows") {
    const std::string response = GENERATE(
        as<std::string>{}, ok + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 204 No Content\r\n\r\n");
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served(get, response);
        co_await both.child.receive_rest();
        co_await world.next_is_new(both.client);
    });
}

TEST_CASE("a connection on which bytes come while it waits is not used") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        co_await both.child.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        co_await world.next_is_new(both.client);
        co_await both.child.receive_rest();
    });
}

TEST_CASE("the response to a HEAD leaves no connection, whose end is for the child to know") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served(
            "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        co_await both.child.closed();
    });
}

TEST_CASE("nothing is kept for a client that does not stay") {
    const std::string request = GENERATE(
        as<std::string>{}, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "GET /a HTTP/1.0\r\n\r\n");
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(request);
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.find("\r\nConnection: close\r\n") != std::string::npos);
        co_await child.send(ok);
        co_await child.closed();
    });
}

TEST_CASE("a stop closes the connections that wait, and keeps no further one") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto idle = co_await world.served();
        auto busy = co_await world.served();
        co_await busy.client.send(get);
        co_await busy.child.receive_head();
        world.gate.close("stopping");
        co_await idle.child.closed();
        co_await busy.child.send(ok);
        co_await busy.child.closed();
    });
}

TEST_CASE("a connection to a child that was replaced is never used") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto idle = co_await world.served();
        auto busy = co_await world.served();
        co_await busy.client.send(get);
        co_await busy.child.receive_head();
        world.server->forget_upstream();
        const tcp::endpoint next(asio::ip::address_v4::loopback(), world.child_port());
        world.server->set_upstream(next);
        co_await busy.child.send(ok);
        co_await busy.client.receive_message();
        co_await world.next_is_new(busy.client);
        co_await world.next_is_new(idle.client);
        co_await busy.child.closed();
        co_await idle.child.closed();
    });
}

TEST_CASE("a waiting connection makes room as soon as the child's threads run short") {
    keeping_world world(1);
    world.run([&]() -> awaitable<void> {
        auto first = co_await world.served();
        auto second = co_await world.connect();
        co_await second.send(post_b);
        co_await first.child.closed();
        auto own = co_await world.accept();
        co_await own.receive_message();
        // And while it is short, none comes to wait.
        co_await first.client.send(get);
        auto third = co_await world.accept();
        co_await third.receive_head();
        co_await third.send(ok);
        co_await third.closed();
        co_await own.send(ok);
    });
}

TEST_CASE("a connection waits for two seconds at most") {
    keeping_world world;
    world.run([&]() -> awaitable<void> {
        auto both = co_await world.served();
        const auto began = std::chrono::steady_clock::now();
        co_await both.child.closed();
        CHECK(std::chrono::steady_clock::now() - began < 4s);
    });
}

// What clients see while the gate holds, when it opens, and when it closes.

#include <string>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using namespace hibernate::test;
using hibernate::proxy::gate;

namespace {

const std::string health = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";

std::string unavailable(const std::string& reason, const std::string& connection = "") {
    const auto body =
        R"({"error":{"code":503,"message":")" + reason + R"(","type":"unavailable_error"}})";
    return "HTTP/1.1 503 Service Unavailable\r\n"
           "Content-Type: application/json; charset=utf-8\r\nRetry-After: 1\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n" + connection + "\r\n" + body;
}

const std::string closing = "Connection: close\r\n";

} // namespace

TEST_CASE("while the gate holds, every path is unavailable, for the reason it gives") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring 2 of 5");
        auto client = co_await world.connect();
        const std::string paths[] = {"/",        "/v1/models", "/props",
                                     "/healthy", "/x/health",  "/v2/health"};
        for (const auto& path : paths) {
            co_await client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
            const auto response = co_await client.receive_message();
            CHECK(response == unavailable("restoring 2 of 5"));
        }
        world.gate.hold("restoring 3 of 5");
        // A POST to /health is no probe. Small bodies are read, so that the connection can stay.
        co_await client.send("POST /health HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
        const auto response = co_await client.receive_message();
        CHECK(response == unavailable("restoring 3 of 5"));
        co_await client.send(get);
        const auto next = co_await client.receive_message();
        CHECK(next == unavailable("restoring 3 of 5"));
        CHECK(world.hooks.forwarded.empty());
    });
}

TEST_CASE("a health probe waits for the gate, and passes when it opens") {
    const std::string target = GENERATE(
        as<std::string>{}, "GET /health", "HEAD /health", "GET /v1/health", "GET /health?x=1");
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send(target + " HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        CHECK(client.pending() == "");
        world.gate.open();
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.starts_with(target + " HTTP/1.1\r\n"));
        const std::string response = target.starts_with("HEAD") ? ok.substr(0, ok.size() - 2) : ok;
        co_await child.send(response);
        co_await client.receive_head();
    });
}

TEST_CASE("with an API prefix, health probes have it") {
    auto settings = loopback_settings();
    settings.health_path = "/api/health";
    proxy_world world(settings, 1ms);
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send("GET /api/v1/health HTTP/1.1\r\nHost: h\r\n\r\n");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        world.gate.open();
        auto child = co_await world.accept();
        co_await child.receive_head();
    });
}

TEST_CASE("a health probe that waited long enough is told to come again") {
    proxy_world world(loopback_settings(), 20ms);
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        for (int count = 0; count < 2; ++count) {
            const auto asked = std::chrono::steady_clock::now();
            co_await client.send(health);
            const auto response = co_await client.receive_message();
            CHECK(response == unavailable("restoring"));
            CHECK(std::chrono::steady_clock::now() - asked >= 20ms);
        }
    });
}

TEST_CASE("a held probe is released when the gate closes") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send(health);
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        world.gate.close("stopping");
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == unavailable("stopping", closing));
        CHECK(all.ending == ending::orderly);
    });
}

TEST_CASE("a held client that goes away is forgotten") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send(health);
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        client.close();
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK(world.hooks.forwarded.empty());
    });
}

TEST_CASE("a held client may send its next request early") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send(health);
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        co_await client.send(get);
        co_await world.settle();
        world.gate.open();
        for (const auto* const path : {"GET /health ", "GET /a "}) {
            auto child = co_await world.accept();
            const auto head = co_await child.receive_head();
            CHECK(head.starts_with(path));
            co_await child.send(ok);
        }
        const auto responses = co_await client.receive(2 * ok.size());
        CHECK(responses == ok + ok);
    });
}

TEST_CASE("when the gate closes, a running exchange ends well and its connection with it") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        world.gate.close("stopping");
        co_await child.send(ok);
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        CHECK(all.ending == ending::orderly);
    });
}

TEST_CASE("when the gate closes, a request that fails ends its connection as well") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        world.gate.close("stopping");
        child.close();
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes.starts_with("HTTP/1.1 502 "));
        CHECK(all.bytes.find(closing) != std::string::npos);
    });
}

TEST_CASE("when the gate closes, idle connections are closed") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        co_await client.receive_message();
        co_await world.settle();
        world.gate.close("stopping");
        const auto end = co_await client.closed();
        CHECK(end == ending::orderly);
    });
}

TEST_CASE("when the gate has closed, a new client is told so") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await world.settle();
        world.gate.close("stopping");
        co_await client.send(health);
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == unavailable("stopping", closing));
    });
}

TEST_CASE("a gate that closed stays closed, and a gate can hold again") {
    asio::io_context context;
    gate one(context, 1s);
    CHECK(one.current() == gate::state::holding);
    CHECK(one.reason() == "Loading model");
    one.open();
    CHECK(one.current() == gate::state::open);
    one.hold("restoring");
    CHECK(one.current() == gate::state::holding);
    one.close("stopping");
    one.open();
    one.hold("again");
    CHECK(one.current() == gate::state::closed);
    CHECK(one.reason() == "stopping");
}

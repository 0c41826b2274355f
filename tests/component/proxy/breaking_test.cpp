// A connection breaks at every byte, and at every call: the exchange ends, its owner is told once,
// and what was cut never looks whole.

#include <string>

#include <boost/asio/detached.hpp>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "failing_sockets.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;

namespace {

const std::string closing_get = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const std::string trailed_body = "3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n";
const std::string trailed_post =
    "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + trailed_body;
const std::string chunked_ok =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + trailed_body;

bool is_whole_request(std::string_view bytes) {
    const bool chunked = bytes.find("\r\nTransfer-Encoding: chunked\r\n") != std::string_view::npos;
    return bytes.ends_with(chunked ? "\r\nTrailer: 1\r\n\r\n" : "\r\n\r\n");
}

/// Plays a child that reads one request to its end, answers it, and waits for the proxy to leave.
awaitable<void> serve_one(peer child, std::string answer) {
    std::string request;
    char bytes[4096];
    const auto buffer = asio::buffer(bytes);
    error_code error;
    while (!error && !is_whole_request(request)) {
        const auto size = co_await child.socket().async_read_some(
            buffer, asio::redirect_error(use_awaitable, error));
        request.append(bytes, size);
    }
    if (!error) {
        co_await child.try_send(answer);
        co_await child.receive_rest();
    }
}

/// Every connection to the child, until the world ends.
awaitable<void> serve_all(proxy_world& world, std::string answer) {
    for (;;) {
        auto child = co_await world.accept();
        asio::co_spawn(world.context, serve_one(std::move(child), answer), asio::detached);
    }
}

} // namespace

TEST_CASE("a client that leaves at any byte of its request, or of the answer, is forgotten") {
    const bool reset = GENERATE(false, true);
    const bool looked_at = GENERATE(false, true);
    proxy_world world;
    world.hooks.wanting = [&](const auto&) { return looked_at; };
    asio::co_spawn(world.context, serve_all(world, chunked_ok), asio::detached);
    world.run([&]() -> awaitable<void> {
        const auto leave = [&](peer& client) {
            if (reset) {
                client.reset();
            } else {
                client.close();
            }
        };
        for (std::size_t sent = 0; sent <= trailed_post.size(); ++sent) {
            auto client = co_await world.connect();
            co_await client.send(std::string_view(trailed_post).substr(0, sent));
            co_await world.settle();
            leave(client);
        }
        for (std::size_t received = 0; received <= chunked_ok.size(); ++received) {
            auto client = co_await world.connect();
            co_await client.send(trailed_post);
            co_await client.receive(received);
            leave(client);
        }
        const auto& hooks = world.hooks;
        co_await world.until([&] {
            return world.server->exchanges_in_flight() == 0 &&
                   hooks.outcomes.size() == hooks.forwarded.size();
        });
        // And whoever comes next is served.
        auto client = co_await world.connect();
        co_await client.send(trailed_post);
        const auto response = co_await client.receive(chunked_ok.size());
        CHECK(response == chunked_ok);
    });
}

TEST_CASE("a response that breaks at any byte never looks whole") {
    struct kind {
        std::string response; ///< as the child would send it
        std::string whole;    ///< as the client would get it
    };
    const std::string digits = "0123456789";
    const std::string close = "Connection: close\r\n\r\n";
    const std::string measured = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n";
    const std::string in_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    const std::string unframed = "HTTP/1.1 200 OK\r\n";
    const kind what = GENERATE_COPY(
        kind{in_chunks + "\r\n" + trailed_body, in_chunks + close + trailed_body},
        kind{measured + "\r\n" + digits, measured + close + digits},
        kind{unframed + "\r\n" + digits, unframed + close + digits});
    const bool reset = GENERATE(false, true);
    const bool ends_with_connection = what.response.starts_with(unframed + "\r\n");
    const auto head_size = what.response.find("\r\n\r\n") + 4;
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        for (std::size_t sent = 0; sent < what.response.size(); ++sent) {
            INFO("broken after " << sent);
            auto client = co_await world.connect();
            co_await client.send(closing_get);
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(std::string_view(what.response).substr(0, sent));
            if (reset) {
                child.reset(); // what it had sent may be lost with it
            } else {
                child.close();
            }
            const auto all = co_await client.receive_rest();
            if (all.bytes.starts_with("HTTP/1.1 502 ")) {
                CHECK((reset || sent < head_size));
                continue;
            }
            CHECK(sent >= head_size);
            CHECK(what.whole.starts_with(all.bytes));
            CHECK(all.bytes.size() < what.whole.size());
            if (!reset) {
                CHECK(all.bytes.size() == what.whole.size() - (what.response.size() - sent));
            } else if (ends_with_connection) {
                CHECK(all.ending == ending::reset);
            }
        }
    });
}

TEST_CASE("whichever call of an exchange fails, it ends, and nothing cut looks whole") {
    const bool has_body = GENERATE(false, true);
    const bool looked_at = GENERATE(false, true);
    const std::string request = has_body ? "POST /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                                           "Transfer-Encoding: chunked\r\n\r\n" +
                                               trailed_body
                                         : closing_get;
    const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                              "Connection: close\r\n\r\n" +
                              trailed_body;
    proxy_world world;
    world.hooks.wanting = [&](const auto&) { return looked_at; };
    asio::co_spawn(world.context, serve_all(world, chunked_ok), asio::detached);
    world.run([&]() -> awaitable<void> {
        const auto& hooks = world.hooks;
        bool failed = true;
        std::size_t number = 0;
        for (; failed; ++number) {
            INFO("call " << number << ", body: " << has_body << ", looked at: " << looked_at);
            auto client = co_await world.connect();
            const failing_call failing(world.port(), world.child_port(), number);
            co_await client.try_send(request);
            const auto all = co_await client.receive_rest();
            co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
            failed = failing.has_failed();
            REQUIRE(hooks.forwarded.size() == hooks.outcomes.size());
            const bool complete =
                !hooks.outcomes.empty() && hooks.outcomes.back() == outcome::complete;
            if (!failed) {
                CHECK(all.bytes == whole);
                CHECK(complete);
            } else if (!all.bytes.starts_with("HTTP/1.1 502 ")) {
                CHECK(whole.starts_with(all.bytes));
            }
        }
        CHECK(number > 5);
    });
}

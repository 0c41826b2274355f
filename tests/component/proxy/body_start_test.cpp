// What the owner sees of a request's body before the child gets it, and that looking changes
// nothing.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::half_close;
using hibernate::proxy::outcome;

namespace {

const std::string chunked_post =
    "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::size_t buffer_size = std::size_t{64} * 1024;

std::string post(std::size_t length) {
    return "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

/// Bytes of which no two stretches are alike.
std::string text_of_size(std::size_t size) {
    std::string text;
    while (text.size() < size) {
        text += std::to_string(text.size()) + " ";
    }
    return text.substr(0, size);
}

/// The same as chunks of 1, 2, 3... bytes, with an extension now and then, and a trailer.
std::string in_chunks(std::string_view text) {
    std::string chunks;
    for (std::size_t size = 1; !text.empty(); ++size) {
        const auto chunk = text.substr(0, size);
        char line[32];
        std::snprintf(line, sizeof line, "%zx", chunk.size());
        chunks += std::string(line) + (size % 3 == 0 ? ";x=1\r\n" : "\r\n");
        chunks += std::string(chunk) + "\r\n";
        text.remove_prefix(chunk.size());
    }
    return chunks + "0\r\nTrailer: 1\r\n\r\n";
}

/// A proxy whose owner wants to see every body.
class looking_world : public proxy_world {
public:
    explicit looking_world(hibernate::proxy::server_settings settings = loopback_settings())
        : proxy_world(std::move(settings)) {
        hooks.wanting = [](const auto&) { return true; };
    }

    /// Plays a child that gets this body and answers, and a client that gets the answer.
    awaitable<void> exchange_goes_on(peer& client, std::string_view body) {
        auto child = co_await accept();
        co_await child.receive_head();
        const auto received = co_await child.receive(body.size());
        CHECK(received == body);
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
        co_await child.closed();
    }
};

} // namespace

TEST_CASE("the owner sees a body once it is there, and the child gets it as it came") {
    const auto text = text_of_size(300);
    const bool chunked = GENERATE(false, true);
    const auto body = chunked ? in_chunks(text) : text;
    const auto request = (chunked ? chunked_post : post(text.size())) + body;
    const std::size_t head_size = request.size() - body.size();
    const std::size_t piece = GENERATE_COPY(std::size_t{1}, std::size_t{7}, request.size());
    const bool head_apart = GENERATE(false, true);
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        std::size_t sent = head_apart ? head_size : 0;
        co_await client.send(request.substr(0, sent));
        for (; sent + piece < request.size(); sent += piece) {
            co_await client.send(request.substr(sent, piece));
            co_await world.settle();
        }
        CHECK(world.hooks.forwarded.empty());
        co_await client.send(request.substr(sent));
        co_await world.exchange_goes_on(client, body);
        CHECK(world.hooks.body_starts == std::vector{text});
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("a body is understood wherever it is split") {
    const auto body = in_chunks(text_of_size(10));
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        for (std::size_t split = 0; split < body.size(); ++split) {
            co_await client.send(chunked_post + body.substr(0, split));
            co_await world.settle();
            co_await client.send(body.substr(split));
            co_await world.exchange_goes_on(client, body);
        }
        CHECK(world.hooks.body_starts == std::vector(body.size(), text_of_size(10)));
    });
}

TEST_CASE("of a long body the owner sees as much as the buffer takes") {
    const std::size_t size =
        GENERATE(buffer_size - 1, buffer_size, buffer_size + 1, 4 * buffer_size);
    const auto body = text_of_size(size);
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(size) + body);
        co_await world.exchange_goes_on(client, body);
        REQUIRE(world.hooks.body_starts.size() == 1);
        CHECK(world.hooks.body_starts[0] == body.substr(0, buffer_size));
    });
}

TEST_CASE("a long body is seen without its chunked coding") {
    const auto text = text_of_size(4 * buffer_size);
    const auto body = in_chunks(text);
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(chunked_post + body);
        co_await world.exchange_goes_on(client, body);
        REQUIRE(world.hooks.body_starts.size() == 1);
        const auto& seen = world.hooks.body_starts[0];
        CHECK(seen.size() > buffer_size * 9 / 10);
        CHECK(seen.size() < buffer_size);
        CHECK(text.starts_with(seen));
    });
}

TEST_CASE("what the owner sees stays while the client sends on") {
    const auto body = text_of_size(1000);
    looking_world world;
    bool client_has_sent = false;
    std::string seen_later;
    world.hooks.before = [&](const hibernate::proxy::request_view& view) -> awaitable<void> {
        co_await world.until([&] { return client_has_sent; });
        co_await world.settle();
        seen_later = view.body_start;
    };
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(body.size()) + body);
        co_await world.until([&] { return world.hooks.forwarded.size() == 1; });
        co_await client.send(get);
        client_has_sent = true;
        co_await world.exchange_goes_on(client, body);
        CHECK(seen_later == body);
        co_await world.exchange_goes_on(client, "");
    });
}

TEST_CASE("the next request is not taken for the body") {
    const auto body = GENERATE(as<std::string>{}, "abc", in_chunks("abc"));
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const auto head = body == "abc" ? post(3) : chunked_post;
        co_await client.send(head + body + head + body);
        co_await world.exchange_goes_on(client, body);
        co_await world.exchange_goes_on(client, body);
        CHECK(world.hooks.body_starts == std::vector<std::string>{"abc", "abc"});
    });
}

TEST_CASE("a request without a body does not wait for one") {
    const auto request = GENERATE(as<std::string>{}, get, post(0));
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(request);
        co_await world.exchange_goes_on(client, "");
        CHECK(world.hooks.body_starts == std::vector<std::string>{""});
    });
}

TEST_CASE("a request that the owner does not want to see is not kept back") {
    proxy_world world;
    std::string asked;
    world.hooks.wanting = [&](const hibernate::proxy::request_view& view) {
        asked = view.path;
        return false;
    };
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(3) + "ab");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.receive(2);
        CHECK(asked == "/b");
        CHECK(world.hooks.body_starts == std::vector<std::string>{""});
    });
}

TEST_CASE("a client that waits for 100 Continue gets it from us, and its body is seen") {
    const std::string early = GENERATE(as<std::string>{}, "", "ab");
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const std::string waiting =
            "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
        const std::string proceed = "HTTP/1.1 100 Continue\r\n\r\n";
        for (int count = 0; count < 2; ++count) {
            co_await client.send(waiting + early);
            const auto told = co_await client.receive(proceed.size());
            CHECK(told == proceed);
            CHECK_FALSE(world.child_was_called());
            co_await client.send(std::string("abc").substr(early.size()));
            auto child = co_await world.accept();
            const auto request = co_await child.receive_message();
            CHECK(request.ends_with("\r\n\r\nabc"));
            CHECK(request.find("Expect") == std::string::npos);
            co_await child.send(ok);
            const auto response = co_await client.receive_message();
            CHECK(response == ok);
        }
        CHECK(world.hooks.body_starts == std::vector<std::string>{"abc", "abc"});
    });
}

TEST_CASE("a client that did not wait for 100 Continue is not told") {
    const bool chunked = GENERATE(false, true);
    looking_world world;
    world.run([&]() -> awaitable<void> {
        const std::string body = chunked ? in_chunks("abc") : "abc";
        const std::string framing =
            chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: 3\r\n\r\n";
        auto client = co_await world.connect();
        co_await client.send(
            "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n" + framing + body);
        co_await world.exchange_goes_on(client, body);
        CHECK(world.hooks.body_starts == std::vector<std::string>{"abc"});
    });
}

TEST_CASE("who is refused is not told to go on") {
    looking_world world;
    const bool gate_holds = GENERATE(false, true);
    if (gate_holds) {
        world.gate.hold("restoring");
    } else {
        world.hooks.refusing = [](const auto&) {
            return std::optional(hibernate::proxy::refusal{403, "no", "permission_error"});
        };
    }
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(
            "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes.starts_with(gate_holds ? "HTTP/1.1 503 " : "HTTP/1.1 403 "));
        CHECK(all.ending == ending::orderly);
        CHECK_FALSE(world.child_was_called());
    });
}

TEST_CASE("a client that leaves instead of going on is forgotten") {
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(
            "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        co_await client.receive_head();
        client.close();
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK_FALSE(world.child_was_called());
        CHECK(world.hooks.outcomes.empty());
    });
}

TEST_CASE("a client that leaves in the middle of its body is forgotten") {
    enum class departure { fin, reset, cut, silence };
    const auto how = GENERATE(departure::fin, departure::reset, departure::cut, departure::silence);
    auto settings = loopback_settings();
    settings.idle_timeout = how == departure::silence ? 200ms : 60'000ms;
    looking_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(100) + "abc");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        co_await world.settle();
        if (how == departure::fin) {
            client.shutdown_send();
        } else if (how == departure::reset) {
            client.reset();
        } else if (how == departure::cut) {
            world.server->cut_connections();
        }
        if (how != departure::reset) {
            co_await client.closed();
        }
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK(world.hooks.forwarded.empty());
        CHECK(world.hooks.outcomes.empty());

        // The first that the child hears of is another client.
        auto another = co_await world.connect();
        co_await another.send(post(3) + "abc");
        co_await world.exchange_goes_on(another, "abc");
    });
}

TEST_CASE("a client that leaves while its seen request is kept back is told of once") {
    looking_world world;
    asio::steady_timer never(world.context, std::chrono::steady_clock::time_point::max());
    world.hooks.before = [&](const auto&) -> awaitable<void> {
        co_await never.async_wait(use_awaitable);
    };
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(3) + "abc");
        co_await world.until([&] { return world.hooks.forwarded.size() == 1; });
        client.close();
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK(world.hooks.outcomes == std::vector{outcome::client_gone});
    });
}

TEST_CASE("a server may go while it waits for a body") {
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(100) + "abc");
        co_await world.until([&] { return world.server->exchanges_in_flight() == 1; });
        co_await world.settle();
        world.server.reset();
        co_await client.closed();
        CHECK(world.hooks.forwarded.empty());
        CHECK(world.hooks.outcomes.empty());
    });
}

TEST_CASE("a half-closed client's body is seen, whole or not") {
    auto settings = loopback_settings();
    settings.on_half_close = half_close::keep;
    looking_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(post(3) + "a");
        co_await world.settle();
        co_await client.send("bc");
        client.shutdown_send();
        co_await world.exchange_goes_on(client, "abc");

        auto cut_short = co_await world.connect();
        co_await cut_short.send(post(100) + "ab");
        cut_short.shutdown_send();
        auto child = co_await world.accept();
        co_await child.receive_head();
        const auto rest = co_await child.receive_rest();
        CHECK(rest.bytes == "ab");
        CHECK(world.hooks.body_starts == std::vector<std::string>{"abc", "ab"});
        CHECK(world.hooks.outcomes == std::vector{outcome::complete, outcome::client_gone});
    });
}

TEST_CASE("malformed chunks are told so, and the child never hears of them") {
    const bool at_once = GENERATE(false, true);
    looking_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(chunked_post + "3\r\nabc\r\n" + (at_once ? "oops\r\n" : ""));
        if (!at_once) {
            co_await world.settle();
            co_await client.send("oops\r\n");
        }
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        CHECK(all.bytes.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(all.ending == ending::orderly);
        CHECK(world.hooks.forwarded.empty());

        auto another = co_await world.connect();
        co_await another.send(post(3) + "abc");
        co_await world.exchange_goes_on(another, "abc");
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

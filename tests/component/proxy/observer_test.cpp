// What the owner sees of a response's body while it passes, and that looking changes nothing.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using namespace hibernate::test;
using hibernate::proxy::body_observer;
using hibernate::proxy::outcome;
using hibernate::proxy::request_view;
using hibernate::proxy::response_view;

namespace {

const std::string last_get = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const std::string old_get = "GET /a HTTP/1.0\r\n\r\n";
const std::string awkward_body =
    "3;ext=1\r\nabc\r\n2\r\nde\r\n00b\r\n0\r\n\r\n1\r\nx\r\n\r\n0\r\nTrailer: 1\r\n\r\n";
const std::string chunked_payload = "abcde0\r\n\r\n1\r\nx\r\n";

/// What became of one observer; it outlives it.
struct observation {
    std::string path;
    unsigned status = 0;
    std::string coding;
    std::string seen;
    bool destroyed = false;
};

class recording_observer : public body_observer {
public:
    explicit recording_observer(observation& into) : into_(into) {}
    ~recording_observer() override { into_.destroyed = true; }
    recording_observer(const recording_observer&) = delete;
    recording_observer& operator=(const recording_observer&) = delete;
    void see(std::string_view payload) noexcept override {
        into_.seen += payload;
        if (on_see) {
            on_see();
        }
    }
    std::function<void()> on_see;

private:
    observation& into_;
};

/// A proxy whose owner looks at every response, unless it is told not to.
class observing_world : public proxy_world {
public:
    explicit observing_world(bool looks = true) {
        if (looks) {
            hooks.observing = [this](const request_view& request, const response_view& response) {
                auto& one = *observations.emplace_back(std::make_unique<observation>());
                one.path = request.path;
                one.status = response.status;
                one.coding = response.header("content-encoding").value_or("none");
                auto observer = std::make_unique<recording_observer>(one);
                observer->on_see = on_see;
                return observer;
            };
        }
        hooks.after = [this](outcome) {
            for (const auto& one : observations) {
                seen_by_then.push_back(one->destroyed ? "" : one->seen);
            }
        };
    }

    observing_world(const observing_world&) = delete;
    observing_world& operator=(const observing_world&) = delete;
    ~observing_world() { server.reset(); } // its hooks write into what is declared here

    /// Everything that a client gets to whom the child sends this, in so many bytes at once.
    awaitable<peer::rest>
    received_of(std::string request, std::string response, std::size_t piece) {
        auto client = co_await connect();
        co_await client.send(request);
        auto child = co_await accept();
        co_await child.receive_head();
        bool sent = true;
        for (std::size_t at = 0; sent && at < response.size(); at += piece) {
            sent = co_await child.try_send(std::string_view(response).substr(at, piece));
            co_await settle();
        }
        child.close();
        auto all = co_await client.receive_rest();
        co_return all;
    }

    std::vector<std::unique_ptr<observation>> observations;
    std::vector<std::string> seen_by_then; ///< by those alive during after_response
    std::function<void()> on_see;
};

struct response_case {
    std::string name;
    std::string response;
    std::string payload;
};

} // namespace

TEST_CASE("the owner sees the payload, and the client gets what it gets without an observer") {
    const auto one = GENERATE(
        response_case{"chunked", chunked_head + awkward_body, chunked_payload},
        response_case{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab\r\nc", "ab\r\nc"},
        response_case{"until close", "HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"},
        response_case{
            "after interim", "HTTP/1.1 103 Early\r\n\r\n" + chunked_head + awkward_body,
            chunked_payload},
        response_case{"broken", chunked_head + "5\r\nabcde\r\noops\r\n", "abcde"},
        response_case{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "abc"});
    const auto request = GENERATE(last_get, old_get);
    const std::size_t piece = GENERATE(1U, 2U, 3U, 7U, 1000U);
    INFO(one.name << " in pieces of " << piece << " to " << request);
    peer::rest without;
    peer::rest with;
    observing_world blind(false);
    blind.run([&]() -> awaitable<void> {
        without = co_await blind.received_of(request, one.response, piece);
    });
    observing_world world;
    world.run([&]() -> awaitable<void> {
        with = co_await world.received_of(request, one.response, piece);
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
    });
    CHECK(with.bytes == without.bytes);
    CHECK(with.ending == without.ending);
    CHECK(world.hooks.outcomes == blind.hooks.outcomes);
    REQUIRE(world.observations.size() == 1);
    const auto& seen = world.observations[0]->seen;
    if (one.name == "broken") {
        CHECK(one.payload.starts_with(seen)); // what comes along with the bad bytes is not relayed
    } else {
        CHECK(seen == one.payload);
    }
    CHECK(world.observations[0]->destroyed);
    CHECK(world.seen_by_then == std::vector{seen});
}

TEST_CASE("what is seen has been written to the client") {
    const auto request = GENERATE(get, old_get);
    observing_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        std::string received; // by the time that the owner sees
        world.on_see = [&] {
            ::pollfd there{client.socket().native_handle(), POLLIN, 0};
            while (received.find("abc") == std::string::npos && ::poll(&there, 1, 3000) == 1) {
                received += client.pending();
            }
        };
        co_await client.send(request);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(chunked_head + "3\r\nabc\r\n");
        co_await world.until(
            [&] { return !world.observations.empty() && !world.observations[0]->seen.empty(); });
        CHECK(received.find("abc") != std::string::npos);
    });
}

TEST_CASE("responses without a body are nobody's to look at") {
    observing_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const auto exchange = [&](std::string request, std::string response) -> awaitable<void> {
            co_await client.send(request + " /a HTTP/1.1\r\nHost: h\r\n\r\n");
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(response);
            const auto received = co_await client.receive(response.size());
            CHECK(received == response);
        };
        co_await exchange("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
        co_await exchange("HEAD", chunked_head);
        co_await exchange("GET", "HTTP/1.1 204 No Content\r\n\r\n");
        co_await exchange("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n");
        co_await exchange("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        CHECK(world.observations.empty());
        // What the proxy answers itself is no response of the child's.
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        child.close();
        const auto answer = co_await client.receive_message();
        CHECK(answer.starts_with("HTTP/1.1 502 "));
        CHECK(world.observations.empty());
    });
}

TEST_CASE("the owner knows the request and the response's head when it is asked") {
    observing_world world;
    world.run([&]() -> awaitable<void> {
        const std::string body = "packed";
        auto client = co_await world.connect();
        co_await client.send("GET /v1/%61?b HTTP/1.1\r\nHost: h\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(
            "HTTP/1.1 203 Other\r\nContent-Encoding: gzip\r\n"
            "Content-Length: 6\r\n\r\n" +
            body);
        co_await client.receive_message();
        REQUIRE(world.observations.size() == 1);
        CHECK(world.observations[0]->path == "/v1/a");
        CHECK(world.observations[0]->status == 203);
        CHECK(world.observations[0]->coding == "gzip");
        CHECK(world.observations[0]->seen == body);
    });
}

TEST_CASE("each response on a connection has an observer of its own") {
    const bool at_once = GENERATE(false, true);
    observing_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const auto request = [](int number) {
            return "GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: h\r\n\r\n";
        };
        if (at_once) {
            co_await client.send(request(0) + request(1) + request(2));
        }
        for (int number = 0; number < 3; ++number) {
            if (!at_once) {
                co_await client.send(request(number));
            }
            const auto response =
                chunked_head + "2\r\n=" + std::to_string(number) + "\r\n0\r\n\r\n";
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(response);
            const auto received = co_await client.receive(response.size());
            CHECK(received == response);
        }
        co_await world.until([&] { return world.hooks.outcomes.size() == 3; });
        REQUIRE(world.observations.size() == 3);
        for (std::size_t number = 0; number < 3; ++number) {
            const auto text = std::to_string(number);
            CHECK(world.observations[number]->path == "/" + text);
            CHECK(world.observations[number]->seen == "=" + text);
            CHECK(world.observations[number]->destroyed);
        }
    });
}

TEST_CASE("an observer ends with its exchange, whoever ends that") {
    enum class end { client_closes, client_resets, child_leaves, cut, server_goes };
    const auto how = GENERATE(
        end::client_closes, end::client_resets, end::child_leaves, end::cut, end::server_goes);
    observing_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(chunked_head + "3\r\nabc\r\n");
        co_await client.receive(chunked_head.size() + 8);
        co_await world.until([&] { return !world.observations.at(0)->seen.empty(); });
        CHECK_FALSE(world.observations[0]->destroyed);
        switch (how) {
        case end::client_closes:
            client.close();
            break;
        case end::client_resets:
            client.reset();
            break;
        case end::child_leaves:
            child.close();
            break;
        case end::cut:
            world.server->cut_connections();
            CHECK(world.observations[0]->destroyed);
            break;
        case end::server_goes:
            world.server.reset();
            CHECK(world.observations[0]->destroyed);
            break;
        }
        co_await world.until([&] { return world.observations[0]->destroyed; });
        CHECK(world.seen_by_then == std::vector<std::string>{"abc"});
        // Nothing is seen of what the child still says.
        if (how != end::child_leaves) {
            co_await child.try_send("3\r\ndef\r\n");
            co_await world.settle();
        }
        CHECK(world.observations[0]->seen == "abc");
    });
}

TEST_CASE("a client that takes nothing for a while loses nothing of what is seen") {
    observing_world world;
    world.run([&]() -> awaitable<void> {
        constexpr std::size_t size = 3'000'000;
        std::string body;
        while (body.size() < size) {
            body += std::to_string(body.size()) + " ";
        }
        body.resize(size);
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        std::string chunks = chunked_head;
        for (std::size_t at = 0; at < size; at += 1000) {
            chunks += "3e8\r\n" + body.substr(at, 1000) + "\r\n";
        }
        chunks += "0\r\n\r\n";
        std::size_t sent = 0;
        std::string received;
        while (received.size() < chunks.size()) {
            sent += child.send_what_fits(std::string_view(chunks).substr(sent));
            co_await world.settle();
            received += client.pending();
        }
        co_await world.until([&] { return world.hooks.outcomes.size() == 1; });
        CHECK((received == chunks));
        CHECK((world.observations.at(0)->seen == body));
    });
}

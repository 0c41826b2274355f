// What passes between a client and the child, and that nothing else does.

#include <string>

#include "llama_hibernate/base/awaitable.hpp"

#include "catch.hpp"
#include "proxy_harness.hpp"

using hibernate::awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;

namespace {

const std::string chunked_body = "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n";

} // namespace

TEST_CASE("a request reaches the child, and its response the client") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a?b=%20c HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n"
                             "Content-Length: 3\r\n\r\nabc");
        auto child = co_await world.accept();
        const auto request = co_await child.receive_message();
        CHECK(
            request == "POST /a?b=%20c HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n"
                       "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n"
                       "Content-Length: 3\r\nConnection: close\r\n\r\nabc");
        co_await child.send("HTTP/1.1 201 Fine\r\nX-B: 1\r\nContent-Length: 2\r\n\r\nok");
        const auto response = co_await client.receive_message();
        CHECK(response == "HTTP/1.1 201 Fine\r\nX-B: 1\r\nContent-Length: 2\r\n\r\nok");
        co_await child.closed();
        CHECK(world.hooks.forwarded == std::vector<std::string>{"/a"});
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
        CHECK(world.server->exchanges_in_flight() == 0);
    });
}

TEST_CASE("a client's connection serves one request after the other") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        for (int count = 0; count < 5; ++count) {
            co_await client.send(get);
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(ok);
            const auto response = co_await client.receive_message();
            CHECK(response == ok);
        }
        co_await client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto last = co_await client.receive_rest();
        CHECK(last.bytes == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        CHECK(last.ending == ending::orderly);
    });
}

TEST_CASE("pipelined requests are answered in turn, and none is lost") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const std::string post =
            "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        co_await client.send(post + chunked_body + get + "\r\n" + get);
        auto first = co_await world.accept();
        const auto head = co_await first.receive_head();
        const auto body = co_await first.receive(chunked_body.size());
        CHECK(head.starts_with("POST /b "));
        CHECK(body == chunked_body);
        co_await world.settle();
        CHECK(first.pending() == "");
        co_await first.send(ok);
        for (int count = 0; count < 2; ++count) {
            auto next = co_await world.accept();
            const auto request = co_await next.receive_head();
            CHECK(request.starts_with("GET /a "));
            co_await next.send(ok);
        }
        const auto responses = co_await client.receive(3 * ok.size());
        CHECK(responses == ok + ok + ok);
    });
}

TEST_CASE("a request is understood wherever it is split") {
    const std::string request = GENERATE(
        as<std::string>{},
        "\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked_body,
        "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde",
        "POST /b HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
    const auto body = request.substr(request.find("\r\n\r\n") + 4);
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        for (std::size_t split = 1; split < request.size(); ++split) {
            INFO("split at " << split);
            co_await client.send(std::string_view(request).substr(0, split));
            co_await world.settle();
            co_await client.send(std::string_view(request).substr(split));
            auto child = co_await world.accept();
            const auto head = co_await child.receive_head();
            const auto received = co_await child.receive(body.size());
            CHECK(head.starts_with("POST /b HTTP/1.1\r\n"));
            CHECK(received == body);
            co_await child.send(ok);
            const auto response = co_await client.receive_message();
            CHECK(response.ends_with("\r\n\r\nok"));
        }
    });
}

TEST_CASE("a response arrives the same wherever it is split") {
    struct kind {
        std::string request;
        std::string response;
        std::string received; ///< until the connection ends
    };
    const std::string new_client = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const std::string old_client = "GET /a HTTP/1.0\r\n\r\n";
    const std::string in_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    const std::string close = "Connection: close\r\n\r\n";
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    const std::string measured = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n";
    const kind what = GENERATE_COPY(
        kind{new_client, in_chunks + "\r\n" + chunked_body, in_chunks + close + chunked_body},
        // An HTTP/1.0 client gets no chunks: the payload alone, then the end of the connection.
        kind{
            old_client, in_chunks + "\r\n" + chunked_body, "HTTP/1.1 200 OK\r\n" + close + "abcde"},
        kind{new_client, measured + "\r\n\r\n\r\n", measured + close + "\r\n\r\n"},
        kind{
            new_client, "HTTP/1.0 200 OK\r\n\r\nto the end",
            "HTTP/1.1 200 OK\r\n" + close + "to the end"},
        kind{
            new_client, interim + interim + measured + "\r\nabcd",
            interim + interim + measured + close + "abcd"},
        kind{old_client, interim + measured + "\r\nabcd", measured + close + "abcd"},
        kind{new_client, "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n" + close},
        kind{
            "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", measured + "\r\n",
            measured + close});
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        for (std::size_t split = 1; split < what.response.size(); ++split) {
            INFO("split at " << split);
            auto client = co_await world.connect();
            co_await client.send(what.request);
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(std::string_view(what.response).substr(0, split));
            co_await world.settle();
            co_await child.send(std::string_view(what.response).substr(split));
            child.shutdown_send();
            const auto all = co_await client.receive_rest();
            CHECK(all.bytes == what.received);
            CHECK(all.ending == ending::orderly);
        }
    });
}

TEST_CASE("each event of a stream leaves as it arrives") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(chunked_head);
        co_await client.receive_head();
        for (int count = 0; count < 100; ++count) {
            const std::string event = "b\r\ndata: tok\n\n\r\n";
            co_await child.send(event);
            const auto received = co_await client.receive(event.size());
            CHECK(received == event);
        }
        co_await child.send("0\r\n\r\n");
        co_await client.receive(5);
        co_await world.until([&] { return world.hooks.outcomes.size() == 1; });
    });
}

TEST_CASE("large bodies pass in both directions at once") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        constexpr std::size_t size = 3'000'000;
        std::string body(size, '\0');
        for (std::size_t at = 0; at < size; ++at) {
            body[at] = static_cast<char>(at * 7919 / 251);
        }
        const auto head = "Content-Length: " + std::to_string(size) + "\r\n\r\n";
        auto client = co_await world.connect();
        // The child answers each piece before the next one, as an echo does.
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\n" + head);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send("HTTP/1.1 200 OK\r\n" + head);
        co_await client.receive_head();
        constexpr std::size_t piece = 50'000;
        std::string received;
        for (std::size_t at = 0; at < size; at += piece) {
            co_await client.send(std::string_view(body).substr(at, piece));
            const auto echo = co_await child.receive(piece);
            co_await child.send(echo);
            received += co_await client.receive(piece);
        }
        CHECK((received == body));
    });
}

TEST_CASE("responses without a body end with their head") {
    proxy_world world;
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
        co_await exchange("GET", ok);
    });
}

TEST_CASE("a response that ends with its connection ends the client's as well") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
        child.close();
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end");
        CHECK(all.ending == ending::orderly);
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("interim responses pass, but not to an HTTP/1.0 client") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(interim);
        const auto early = co_await client.receive(interim.size());
        CHECK(early == interim);
        co_await child.send(interim + ok);
        const auto late = co_await client.receive(interim.size() + ok.size());
        CHECK(late == interim + ok);

        auto old_client = co_await world.connect();
        co_await old_client.send("GET /a HTTP/1.0\r\n\r\n");
        auto other = co_await world.accept();
        co_await other.receive_head();
        co_await other.send(interim + ok);
        const auto all = co_await old_client.receive_rest();
        CHECK(all.bytes == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    });
}

TEST_CASE("a client that waits for 100 Continue gets the child's") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                             "Content-Length: 3\r\n\r\n");
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.find("\r\nExpect: 100-continue\r\n") != std::string::npos);
        const std::string proceed = "HTTP/1.1 100 Continue\r\n\r\n";
        co_await child.send(proceed);
        const auto received = co_await client.receive(proceed.size());
        CHECK(received == proceed);
        co_await client.send("abc");
        const auto body = co_await child.receive(3);
        CHECK(body == "abc");
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    });
}

TEST_CASE("a response that comes before the request's end passes, and ends both connections") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno");
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == "HTTP/1.1 401 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
        CHECK(all.ending == ending::orderly);
        const auto rest = co_await child.receive_rest();
        CHECK(rest.bytes == "abc");
    });
}

TEST_CASE("a child that reads no further and hangs up still gets its answer through") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 900000000\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        // Until everything on the way is full, and the proxy waits for the child to read.
        const std::string piece(1'000'000, 'x');
        for (int without_progress = 0; without_progress < 5; ++without_progress) {
            if (client.send_what_fits(piece) > 0) {
                without_progress = 0;
            }
            co_await world.settle();
        }
        // The answer and the reset (there are unread bytes) reach the proxy at once.
        child.send_what_fits("HTTP/1.1 413 Big\r\nContent-Length: 2\r\n\r\nno");
        child.close();
        const auto all = co_await client.receive_rest();
        CHECK(all.bytes == "HTTP/1.1 413 Big\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    });
}

TEST_CASE("an upgraded connection is a tunnel, and each side may end alone") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                             "Upgrade: echo\r\n\r\nearly");
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.find("\r\nConnection: Upgrade\r\nUpgrade: echo\r\n") != std::string::npos);
        const std::string switching = "HTTP/1.1 101 Switching Protocols\r\n"
                                      "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n";
        co_await child.send(switching + "first");
        const auto received = co_await client.receive(switching.size() + 5);
        CHECK(received == switching + "first");
        const auto early = co_await child.receive(5);
        CHECK(early == "early");
        co_await client.send(std::string("\0\r\n\xff", 4));
        const auto raw = co_await child.receive(4);
        CHECK(raw == std::string("\0\r\n\xff", 4));
        CHECK(world.server->exchanges_in_flight() == 1);

        client.shutdown_send();
        co_await child.closed();
        co_await child.send("still");
        const auto late = co_await client.receive(5);
        CHECK(late == "still");
        child.close();
        const auto end = co_await client.closed();
        CHECK(end == ending::orderly);
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        CHECK(world.hooks.outcomes == std::vector{outcome::complete});
    });
}

TEST_CASE("an upgrade that the child ignores is an ordinary request") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                             "Upgrade: echo\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    });
}

TEST_CASE("what the child sends beyond its response reaches nobody") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        co_await client.receive(ok.size());
        co_await client.send(get);
        auto other = co_await world.accept();
        co_await other.receive_head();
        co_await other.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    });
}

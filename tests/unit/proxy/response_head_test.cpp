#include <string>
#include <string_view>

#include "catch.hpp"
#include "llama_hibernate/proxy/head.hpp"

using namespace hibernate::proxy;

namespace {

response_head accepted(std::string_view raw, std::string_view method = "GET") {
    auto response = read_response_head(raw, method);
    REQUIRE(response);
    return *std::move(response);
}

std::string ok(const std::string& fields) {
    return "HTTP/1.1 200 OK\r\n" + fields + "\r\n";
}

framing::kind framing_of(const std::string& raw, std::string_view method = "GET") {
    return accepted(raw, method).body.how;
}

} // namespace

TEST_CASE("a response's body ends where its head says") {
    CHECK(framing_of(ok("Content-Length: 5\r\n")) == framing::kind::length);
    CHECK(accepted(ok("Content-Length: 5\r\nContent-Length: 5\r\n")).body.length == 5);
    CHECK(framing_of(ok("Transfer-Encoding: chunked\r\n")) == framing::kind::chunked);
    CHECK(framing_of(ok("")) == framing::kind::until_close);
    CHECK(framing_of("HTTP/1.0 200 OK\r\n\r\n") == framing::kind::until_close);
}

TEST_CASE("some responses have no body whatever their fields say") {
    CHECK(framing_of(ok("Content-Length: 5\r\n"), "HEAD") == framing::kind::none);
    CHECK(framing_of(ok("Transfer-Encoding: chunked\r\n"), "HEAD") == framing::kind::none);
    CHECK(framing_of("HTTP/1.1 204 No Content\r\n\r\n") == framing::kind::none);
    CHECK(
        framing_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n") ==
        framing::kind::none);
    CHECK(framing_of("HTTP/1.1 100 Continue\r\n\r\n") == framing::kind::none);
    CHECK(accepted("HTTP/1.1 103 Early Hints\r\n\r\n").interim());
}

TEST_CASE("a response that a gateway must not relay is none") {
    const std::string raw = GENERATE(
        as<std::string>{}, "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 020 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "200 OK\r\n\r\n", ok("Content-Length: 5\r\nContent-Length: 6\r\n"),
        ok("Content-Length: x\r\n"), ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        ok("Transfer-Encoding: gzip\r\n"), ok("A: b\r\n c\r\n"), ok("A : b\r\n"));
    INFO(raw);
    CHECK_FALSE(read_response_head(raw, "GET"));
}

TEST_CASE("every value and duplicate passes to the client as it came") {
    const auto response = accepted(
        "HTTP/1.1 200 Very well\r\nServer: llama.cpp\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        "Access-Control-Allow-Origin:\r\nX-Text: a,  b ; c\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 5\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n"
        "Keep-Alive: timeout=5, max=100\r\n\r\n");
    const auto plan = plan_delivery(response, false, true);
    CHECK(plan.keep_alive);
    CHECK(
        head_for_client(response, plan) ==
        "HTTP/1.1 200 Very well\r\nServer: llama.cpp\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        "Access-Control-Allow-Origin: \r\nX-Text: a,  b ; c\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 5\r\n\r\n");
}

TEST_CASE("the client learns how its connection goes on") {
    const auto framed = accepted(ok("Content-Length: 5\r\n"));
    const auto closing = head_for_client(framed, plan_delivery(framed, false, false));
    CHECK(closing.find("\r\nConnection: close\r\n") != std::string::npos);
    const auto old = head_for_client(framed, plan_delivery(framed, true, true));
    CHECK(old.find("\r\nConnection: keep-alive\r\n") != std::string::npos);

    const auto unframed = accepted(ok(""));
    const auto plan = plan_delivery(unframed, false, true);
    CHECK_FALSE(plan.keep_alive);
    CHECK(head_for_client(unframed, plan).find("\r\nConnection: close\r\n") != std::string::npos);
}

TEST_CASE("an HTTP/1.0 client gets no chunks") {
    const auto response = accepted(ok("Transfer-Encoding: chunked\r\n"));
    const auto plan = plan_delivery(response, true, true);
    CHECK(plan.unchunk);
    CHECK_FALSE(plan.keep_alive);
    CHECK(head_for_client(response, plan) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");

    const auto new_client = plan_delivery(response, false, true);
    CHECK_FALSE(new_client.unchunk);
    CHECK(
        head_for_client(response, new_client) ==
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST_CASE("the length of a body that is not sent is still told") {
    const auto response = accepted(ok("Content-Length: 5\r\n"), "HEAD");
    const auto plan = plan_delivery(response, false, true);
    CHECK(head_for_client(response, plan) == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    const auto nothing = accepted("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    CHECK(
        head_for_client(nothing, plan_delivery(nothing, false, true)) ==
        "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_CASE("interim responses say nothing about the connection") {
    const auto interim = accepted("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    CHECK(
        head_for_client(interim, plan_delivery(interim, false, false)) ==
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    const auto switching =
        accepted("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    CHECK(
        head_for_client(switching, plan_delivery(switching, false, false)) ==
        "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

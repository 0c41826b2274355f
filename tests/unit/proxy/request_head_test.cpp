#include <string>
#include <string_view>
#include <variant>

#include "catch.hpp"
#include "llama_hibernate/proxy/head.hpp"
#include "refused_requests.hpp"

using namespace hibernate::proxy;
using hibernate::test::refused_requests;

namespace {

request_head accepted(std::string_view raw) {
    auto read = read_request_head(raw);
    if (const auto* const bad = std::get_if<bad_head>(&read)) {
        FAIL("refused: " << bad->status << " " << bad->reason);
    }
    return std::get<request_head>(std::move(read));
}

unsigned refused(std::string_view raw) {
    const auto read = read_request_head(raw);
    const auto* const bad = std::get_if<bad_head>(&read);
    return bad == nullptr ? 0 : bad->status;
}

std::string get(const std::string& fields) {
    return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string post(const std::string& fields) {
    return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

} // namespace

TEST_CASE("the end of a head is found however it arrives") {
    const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const std::string bytes = head + "body";
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
        head_finder finder;
        const auto first = finder.look(std::string_view(bytes).substr(0, split));
        INFO("split at " << split);
        CHECK((first == head_finder::verdict::complete) == (split >= head.size()));
        if (first != head_finder::verdict::complete) {
            CHECK(finder.look(bytes) == head_finder::verdict::complete);
        }
        CHECK(finder.end() == head.size());
    }
}

TEST_CASE("bytes that can become no head are noticed before they end") {
    const std::string bytes = GENERATE(
        as<std::string>{}, "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: h\n", "\x16\x03\x01\x02",
        " GET", "\r\n", "\n", "{\"a\"");
    head_finder finder;
    CHECK(finder.look(bytes) == head_finder::verdict::malformed);
}

TEST_CASE("an ordinary request is accepted as it is") {
    const auto request =
        accepted("POST /v1/chat/completions?x=%20 HTTP/1.1\r\nHost: localhost:80\r\n"
                 "Content-Length: 12\r\nX-A: 1\r\n\r\n");
    CHECK(request.method == "POST");
    CHECK(request.target == "/v1/chat/completions?x=%20");
    CHECK_FALSE(request.http_1_0);
    CHECK(request.keep_alive);
    CHECK_FALSE(request.expects_continue);
    CHECK(request.body.how == framing::kind::length);
    CHECK(request.body.length == 12);
    CHECK(request.fields.first("x-a") == "1");
    CHECK_FALSE(request.fields.first("x-b"));
}

TEST_CASE("what is a request for us is one for everybody") {
    const std::string raw = GENERATE(
        as<std::string>{}, get(""), get("Content-Length: 0\r\n"), get("A: \r\n"),
        get("A: \xe4\r\n"), post("Content-Length: 3\r\nContent-Length: 3\r\n"),
        post("Content-Length: 3, 3\r\n"), post("Transfer-Encoding: Chunked\r\n"),
        "GET / HTTP/1.0\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "M-SEARCH / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", get("Connection: close, x\r\n"),
        "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n",
        post("Content-Length: 18446744073709551615\r\n"));
    INFO(raw);
    CHECK(refused(raw) == 0);
}

TEST_CASE("what must not reach the child is refused with the status that fits") {
    for (const auto& request : refused_requests()) {
        head_finder finder;
        const bool has_end = finder.look(request.bytes) == head_finder::verdict::complete;
        const auto status =
            has_end ? refused(std::string_view(request.bytes).substr(0, finder.end())) : 400;
        INFO(request.what);
        CHECK((status == request.status || (status != 0 && status == request.or_status)));
    }
}

TEST_CASE("keep-alive is the client's wish") {
    CHECK(accepted(get("")).keep_alive);
    CHECK_FALSE(accepted(get("Connection: close\r\n")).keep_alive);
    CHECK_FALSE(accepted(get("Connection: x\r\nConnection: Close\r\n")).keep_alive);
    CHECK_FALSE(accepted("GET / HTTP/1.0\r\n\r\n").keep_alive);
    CHECK(accepted("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
}

TEST_CASE("100-continue is the one expectation") {
    CHECK(accepted(post("Expect: 100-Continue\r\nContent-Length: 1\r\n")).expects_continue);
    CHECK(accepted(post("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n"))
              .expects_continue);
    CHECK_FALSE(accepted("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
                    .expects_continue);
}

TEST_CASE("an upgrade is offered on where it can be meant") {
    CHECK(accepted(get("Connection: Upgrade\r\nUpgrade: websocket\r\n")).upgrade == "websocket");
    CHECK(accepted(get("Upgrade: websocket\r\n")).upgrade.empty());
    CHECK(accepted(get("Connection: Upgrade\r\n")).upgrade.empty());
    CHECK(accepted(get("Connection: Upgrade\r\nUpgrade: h2c\r\n")).upgrade.empty());
    CHECK(accepted(post("Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n"))
              .upgrade.empty());
    CHECK(accepted(post("Connection: Upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n"))
              .upgrade.empty());
}

TEST_CASE("the head for the child tells the same request") {
    const auto request = accepted("POST /a%20b?c HTTP/1.1\r\nHost: example.org\r\nAccept: a\r\n"
                                  "Accept: b\r\nAuthorization: Bearer k\r\nContent-Length: 3\r\n"
                                  "Content-Length: 3\r\nTrailer: x\r\n\r\n");
    CHECK(
        head_for_upstream(request, {"192.0.2.1", false}) ==
        "POST /a%20b?c HTTP/1.1\r\nHost: example.org\r\nAccept: a\r\nAccept: b\r\n"
        "Authorization: Bearer k\r\nTrailer: x\r\nX-Forwarded-For: 192.0.2.1\r\n"
        "X-Forwarded-Proto: http\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
}

TEST_CASE("fields of one connection stay on it") {
    const auto request =
        accepted(get("Connection: close, X-Mine, Keep-Alive\r\nX-Mine: 1\r\nX-Other: 2\r\n"
                     "Keep-Alive: 5\r\nProxy-Connection: x\r\nTE: trailers\r\nUpgrade: h2c\r\n"
                     "Proxy-Authorization: x\r\n"));
    CHECK(
        head_for_upstream(request, {"", true}) ==
        "GET / HTTP/1.1\r\nHost: h\r\nX-Other: 2\r\nX-Forwarded-Proto: https\r\n"
        "Connection: close\r\n\r\n");
}

TEST_CASE("fields are taken away by any case of their name, and by whole names only") {
    const auto request = accepted(get("Connection: x-MINE\r\nX-Mine: 1\r\nX-Min: 2\r\n"
                                      "X-Mines: 3\r\nConnection: , B ,a\r\nA: 4\r\nb: 5\r\n"));
    CHECK(
        head_for_upstream(request, {"", false}) ==
        "GET / HTTP/1.1\r\nHost: h\r\nX-Min: 2\r\nX-Mines: 3\r\nX-Forwarded-Proto: http\r\n"
        "Connection: close\r\n\r\n");
}

TEST_CASE("a Connection field cannot take away what makes the request") {
    const auto request =
        accepted(post("Connection: Host, Authorization, Content-Length, X-Forwarded-For\r\n"
                      "Authorization: k\r\nContent-Length: 3\r\nX-Forwarded-For: 1.1.1.1\r\n"));
    const auto head = head_for_upstream(request, {"2.2.2.2", false});
    CHECK(head.find("\r\nHost: h\r\n") != std::string::npos);
    CHECK(head.find("\r\nAuthorization: k\r\n") != std::string::npos);
    CHECK(head.find("\r\nContent-Length: 3\r\n") != std::string::npos);
    CHECK(head.find("\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2\r\n") != std::string::npos);
}

TEST_CASE("proxies before us are kept in the record") {
    const auto request =
        accepted(get("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2, 3.3.3.3\r\n"
                     "X-Forwarded-Proto: https\r\n"));
    const auto head = head_for_upstream(request, {"::1", false});
    CHECK(
        head.find("\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2, 3.3.3.3, ::1\r\n") != std::string::npos);
    CHECK(head.find("\r\nX-Forwarded-Proto: https\r\n") != std::string::npos);
    CHECK(head.find("X-Forwarded-Proto: http\r\n") == std::string::npos);
}

TEST_CASE("the child gets HTTP/1.1 from an HTTP/1.0 client") {
    const auto request =
        accepted("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(
        head_for_upstream(request, {"", false}) ==
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Proto: http\r\nContent-Length: 2\r\n"
        "Connection: close\r\n\r\n");
}

TEST_CASE("a POST without a body says so") {
    const auto head = head_for_upstream(accepted(post("")), {"", false});
    CHECK(head.find("\r\nContent-Length: 0\r\n") != std::string::npos);
}

TEST_CASE("a chunked request stays chunked, and an upgrade an upgrade") {
    const auto chunked = accepted(post("Transfer-Encoding: CHUNKED\r\nExpect: 100-continue\r\n"));
    const auto head = head_for_upstream(chunked, {"", false});
    CHECK(head.find("\r\nTransfer-Encoding: chunked\r\n") != std::string::npos);
    CHECK(head.find("\r\nExpect: 100-continue\r\n") != std::string::npos);
    CHECK(head.find("Content-Length") == std::string::npos);
    const auto told = head_for_upstream(chunked, {"", false}, go_ahead::given);
    CHECK(told.find("Expect") == std::string::npos);

    const auto upgrade = accepted(get("Connection: upgrade\r\nUpgrade: websocket\r\n"));
    const auto offer = head_for_upstream(upgrade, {"", false});
    CHECK(offer.find("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n") != std::string::npos);
    CHECK(offer.find("close") == std::string::npos);
}

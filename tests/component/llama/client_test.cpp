#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/llama/client.hpp"

#include <chrono>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "catch.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::llama;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using clock_type = std::chrono::steady_clock;

namespace {

/// A server that takes one request, keeps its text and gives the scripted answer.
struct scripted_server {
    asio::io_context& context;
    std::string answer;
    std::string request;
    tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};

    tcp::endpoint address() const { return acceptor.local_endpoint(); }

    awaitable<void> serve() {
        auto socket = co_await acceptor.async_accept(use_awaitable);
        boost::system::error_code ec;
        co_await asio::async_read_until(
            socket, asio::dynamic_buffer(request), "\r\n\r\n",
            asio::redirect_error(use_awaitable, ec));
        if (answer.empty()) { // say nothing, and wait for the client to go
            char byte = 0;
            co_await socket.async_read_some(
                asio::buffer(&byte, 1), asio::redirect_error(use_awaitable, ec));
            co_return;
        }
        co_await asio::async_write(
            socket, asio::buffer(answer), asio::redirect_error(use_awaitable, ec));
    }
};

std::string http(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Whatever\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

template <typename Call>
auto run(asio::io_context& context, Call call) {
    using result = typename std::invoke_result_t<Call>::value_type;
    std::optional<result> outcome;
    const auto body = [&]() -> awaitable<void> { outcome.emplace(co_await call()); };
    asio::co_spawn(context, body, [](std::exception_ptr failure) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    });
    context.run();
    return *outcome;
}

} // namespace

TEST_CASE("a call carries the key and the prefix and brings the answer") {
    asio::io_context context;
    scripted_server server{
        context, http(200, R"({"n_saved":3,"n_written":48,"timings":{"save_ms":0.5}})"), {}};
    asio::co_spawn(context, server.serve(), asio::detached);
    client to(context, server.address(), "secret", "/foo");

    auto saved =
        run(context, [&] { return to.save_slot(1, "staging-1-2.kv", clock_type::now() + 5s); });
    REQUIRE(saved);
    CHECK(saved->tokens == 3);
    CHECK(server.request.starts_with("POST /foo/slots/1?action=save HTTP/1.1\r\n"));
    CHECK(server.request.find("Authorization: Bearer secret\r\n") != std::string::npos);
    CHECK(server.request.find(R"({"filename":"staging-1-2.kv"})") != std::string::npos);
}

TEST_CASE("a conversation id is a value of the query, whatever is in it") {
    asio::io_context context;
    scripted_server server{context, http(204, ""), {}};
    asio::co_spawn(context, server.serve(), asio::detached);
    client to(context, server.address(), "", "");
    const auto ended =
        run(context, [&] { return to.delete_stream("a b&c=\r\nX: y", clock_type::now() + 5s); });
    CHECK(ended);
    CHECK(server.request.starts_with(
        "DELETE /v1/stream?conv_id=a%20b%26c%3D%0D%0AX%3A%20y HTTP/1.1\r\n"));
    CHECK(server.request.find("Authorization") == std::string::npos);
}

TEST_CASE("one token is asked for in the slot that is named, and the slot can be emptied") {
    asio::io_context context;
    scripted_server server{context, http(200, R"({"content":"x","tokens_predicted":1})"), {}};
    client to(context, server.address(), "", "");
    SECTION("generate") {
        asio::co_spawn(context, server.serve(), asio::detached);
        CHECK(run(context, [&] { return to.generate_token(3, clock_type::now() + 5s); }));
        CHECK(server.request.starts_with("POST /completion HTTP/1.1\r\n"));
        CHECK(server.request.find(R"("n_predict":1,"id_slot":3)") != std::string::npos);
    }
    SECTION("erase") {
        asio::co_spawn(context, server.serve(), asio::detached);
        CHECK(run(context, [&] { return to.erase_slot(3, clock_type::now() + 5s); }));
        CHECK(server.request.starts_with("POST /slots/3?action=erase HTTP/1.1\r\n"));
    }
}

TEST_CASE("an error answer is a failure with llama-server's words") {
    asio::io_context context;
    scripted_server server{
        context, http(400, R"({"error":{"code":400,"message":"Invalid slot ID","type":"x"}})"), {}};
    asio::co_spawn(context, server.serve(), asio::detached);
    client to(context, server.address(), "", "");
    const auto result =
        run(context, [&] { return to.restore_slot(0, "x.kv", clock_type::now() + 5s); });
    REQUIRE_FALSE(result);
    CHECK(result.failure().status == 400);
    CHECK(result.failure().message == "Invalid slot ID");
}

TEST_CASE("a refused connection fails at once, not at the deadline") {
    asio::io_context context;
    tcp::endpoint nobody;
    {
        const tcp::acceptor probe(context, {asio::ip::address_v4::loopback(), std::uint16_t{0}});
        nobody = probe.local_endpoint();
    }
    client to(context, nobody, "", "");
    const auto start = clock_type::now();
    const auto result = run(context, [&] { return to.health(start + 30s); });
    CHECK_FALSE(result);
    CHECK(result.failure().status == 0);
    CHECK(clock_type::now() - start < 10s);
}

TEST_CASE("a server that says nothing is left at the deadline") {
    asio::io_context context;
    scripted_server server{context, "", {}};
    asio::co_spawn(context, server.serve(), asio::detached);
    client to(context, server.address(), "", "");
    const auto start = clock_type::now();
    const auto result = run(context, [&] { return to.props(start + 100ms); });
    REQUIRE_FALSE(result);
    CHECK(result.failure().message == "no answer in time");
    CHECK(clock_type::now() - start < 10s);
}

TEST_CASE("an answer that breaks off or is no HTTP is a failure") {
    for (const auto* answer :
         {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "nonsense\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"}) {
        CAPTURE(answer);
        asio::io_context context;
        scripted_server server{context, answer, {}};
        asio::co_spawn(context, server.serve(), asio::detached);
        client to(context, server.address(), "", "");
        CHECK_FALSE(run(context, [&] { return to.slots(clock_type::now() + 5s); }));
    }
}

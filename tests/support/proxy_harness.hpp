#pragma once
// A proxy between a client and a child that a test plays itself, all on one thread.
//
// A test is one coroutine: it says what the client sends, what the child receives and answers, and
// what comes back. Nothing sleeps; whatever does not happen within ten seconds fails the test.

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "catch.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/gate.hpp"
#include "llama_hibernate/proxy/hooks.hpp"
#include "llama_hibernate/proxy/server.hpp"

namespace hibernate::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

// The messages that most tests send.
inline const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
inline const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
inline const std::string chunked_head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// How a peer ended its direction.
enum class ending { orderly, reset };

/// The test's end of a connection.
class peer {
public:
    explicit peer(tcp::socket socket) : socket_(std::move(socket)) {}

    awaitable<void> send(std::string_view bytes) {
        const auto buffer = asio::buffer(bytes.data(), bytes.size());
        co_await asio::async_write(socket_, buffer, use_awaitable);
    }

    /// Like send, for a reader that may have gone.
    awaitable<bool> try_send(std::string_view bytes) {
        const auto buffer = asio::buffer(bytes.data(), bytes.size());
        error_code error;
        co_await asio::async_write(socket_, buffer, asio::redirect_error(use_awaitable, error));
        co_return !error;
    }

    /// As much as the socket takes without waiting.
    std::size_t send_what_fits(std::string_view bytes) {
        socket_.non_blocking(true);
        error_code error;
        std::size_t sent = 0;
        while (!error && sent < bytes.size()) {
            sent +=
                socket_.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent), error);
        }
        return sent;
    }

    /// Exactly so many bytes; the test fails if the other side ends before.
    awaitable<std::string> receive(std::size_t size) {
        while (received_.size() < size) {
            co_await read_more();
        }
        auto bytes = received_.substr(0, size);
        received_.erase(0, size);
        co_return bytes;
    }

    /// Up to and with the delimiter.
    awaitable<std::string> receive_until(std::string_view delimiter) {
        while (received_.find(delimiter) == std::string::npos) {
            co_await read_more();
        }
        const auto size = received_.find(delimiter) + delimiter.size();
        auto bytes = co_await receive(size);
        co_return bytes;
    }

    awaitable<std::string> receive_head() {
        auto head = co_await receive_until("\r\n\r\n");
        co_return head;
    }

    /// A head and the body that its Content-Length tells.
    awaitable<std::string> receive_message() {
        auto message = co_await receive_head();
        constexpr std::string_view name = "Content-Length: ";
        const auto at = message.find(name);
        const auto size =
            at == std::string::npos ? 0 : std::stoul(message.substr(at + name.size()));
        message += co_await receive(size);
        co_return message;
    }

    struct rest {
        std::string bytes;
        test::ending ending = ending::orderly;
    };
    /// Everything until the other side ends.
    awaitable<rest> receive_rest() {
        error_code error;
        while (!error) {
            co_await read_some(error);
        }
        rest all;
        all.bytes = std::exchange(received_, {});
        all.ending = error == asio::error::eof ? ending::orderly : ending::reset;
        co_return all;
    }

    /// Fails the test if a byte comes before the end.
    awaitable<ending> closed() {
        const auto all = co_await receive_rest();
        CHECK(all.bytes == "");
        co_return all.ending;
    }

    /// Bytes that are here already, without waiting for more.
    std::string pending() {
        error_code error;
        socket_.non_blocking(true);
        std::string more(64 * 1024, '\0');
        const auto size = socket_.read_some(asio::buffer(more), error);
        return std::exchange(received_, {}) + more.substr(0, size);
    }

    void shutdown_send() { socket_.shutdown(tcp::socket::shutdown_send); }
    void close() { socket_.close(); }
    void reset() {
        socket_.set_option(asio::socket_base::linger(true, 0));
        socket_.close();
    }
    tcp::socket& socket() { return socket_; }

private:
    awaitable<void> read_some(error_code& error) {
        char bytes[16 * 1024];
        const auto buffer = asio::buffer(bytes);
        const auto size =
            co_await socket_.async_read_some(buffer, asio::redirect_error(use_awaitable, error));
        received_.append(bytes, size);
    }

    awaitable<void> read_more() {
        error_code error;
        co_await read_some(error);
        if (error) {
            FAIL("the connection ended (" << error.message() << ") after: " << received_);
        }
    }

    tcp::socket socket_;
    std::string received_;
};

class recording_hooks : public proxy::hooks {
public:
    std::function<std::optional<proxy::refusal>(const proxy::request_view&)> refusing;
    std::function<bool(const proxy::request_view&)> wanting;
    std::function<awaitable<void>(const proxy::request_view&)> before;
    std::function<void(proxy::outcome)> after;
    std::function<std::unique_ptr<proxy::body_observer>(
        const proxy::request_view&, const proxy::response_view&)>
        observing;
    std::vector<std::string> forwarded;   ///< the path of each before_forward
    std::vector<std::string> body_starts; ///< and what it saw of the body
    std::vector<proxy::outcome> outcomes; ///< of each after_response

    std::optional<proxy::refusal> refuse(const proxy::request_view& request) override {
        return refusing ? refusing(request) : std::nullopt;
    }
    bool wants_body(const proxy::request_view& request) override {
        return wanting && wanting(request);
    }
    awaitable<void> before_forward(const proxy::request_view& request) override {
        forwarded.push_back(request.path);
        body_starts.emplace_back(request.body_start);
        if (before) {
            co_await before(request);
        }
    }
    std::unique_ptr<proxy::body_observer> observe_response(
        const proxy::request_view& request, const proxy::response_view& response) override {
        return observing ? observing(request, response) : nullptr;
    }
    void after_response(const proxy::request_view&, proxy::outcome how) override {
        outcomes.push_back(how);
        if (after) {
            after(how);
        }
    }
};

inline proxy::server_settings loopback_settings() {
    proxy::server_settings settings;
    settings.port = 0;
    return settings;
}

class proxy_world {
public:
    explicit proxy_world(
        proxy::server_settings settings = loopback_settings(),
        std::chrono::milliseconds health_hold = 60s)
        : gate(context, health_hold),
          server(std::in_place, context, std::move(settings), gate, hooks),
          child_(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        const auto error = server->listen();
        if (error) {
            FAIL("cannot listen: " << error.message());
        }
        server->set_upstream(child_.local_endpoint());
        gate.open();
    }

    /// Runs the test's coroutine to its end, on this thread.
    template <typename Body>
    void run(Body body) {
        bool finished = false;
        std::exception_ptr failure;
        const auto on_end = [&](const std::exception_ptr& thrown) {
            finished = true;
            failure = thrown;
            context.stop();
        };
        asio::co_spawn(context, body(), on_end);
        context.restart();
        context.run_for(10s);
        if (failure) {
            std::rethrow_exception(failure);
        }
        REQUIRE(finished);
    }

    /// The port of the first listener.
    std::uint16_t port() const {
        const auto url = server->urls().at(0);
        return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
    }

    awaitable<peer> connect() {
        tcp::socket socket(context);
        const tcp::endpoint proxy(asio::ip::address_v4::loopback(), port());
        co_await socket.async_connect(proxy, use_awaitable);
        socket.set_option(tcp::no_delay(true));
        peer client(std::move(socket));
        co_return client;
    }

    /// The child's end of the next connection that the proxy opens.
    awaitable<peer> accept() {
        tcp::socket socket(context);
        co_await child_.async_accept(socket, use_awaitable);
        socket.set_option(tcp::no_delay(true));
        peer child(std::move(socket));
        co_return child;
    }

    /// Whether a connection of the proxy's waits to be accepted.
    bool child_was_called() {
        pollfd incoming{child_.native_handle(), POLLIN, 0};
        return poll(&incoming, 1, 0) > 0;
    }

    std::uint16_t child_port() const { return child_.local_endpoint().port(); }

    void close_child() { child_.close(); }

    /// Lets everything that is ready run; no condition of a test rests on it alone.
    awaitable<void> settle() {
        for (int turn = 0; turn < 20; ++turn) {
            co_await asio::post(context, use_awaitable);
        }
    }

    /// Waits until it holds; the test fails if it never does.
    template <typename Condition>
    awaitable<void> until(Condition holds) {
        asio::steady_timer timer(context);
        while (!holds()) {
            timer.expires_after(1ms);
            co_await timer.async_wait(use_awaitable);
        }
    }

    asio::io_context context;
    recording_hooks hooks;
    proxy::gate gate;
    std::optional<proxy::server> server;

private:
    tcp::acceptor child_;
};

} // namespace hibernate::test

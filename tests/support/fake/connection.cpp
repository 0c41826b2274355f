#include "connection.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <nlohmann/json.hpp>

namespace fake {
namespace http = boost::beast::http;
namespace {

constexpr int requests_per_connection = 100;

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out.push_back(static_cast<char>(byte));
            i += 2;
        } else {
            out.push_back(text[i] == '+' ? ' ' : text[i]);
        }
    }
    return out;
}

} // namespace

asio::awaitable<bool> connection::read_request(std::chrono::milliseconds idle_limit) {
    boost::system::error_code ec;
    http::request_parser<http::string_body> parser;
    parser.body_limit(std::uint64_t{256} * 1024 * 1024);
    parser.header_limit(64 * 1024);
    reading_ = true;
    // Cancelled before this frame ends; a late success finds reading_ false.
    asio::steady_timer idle(socket_.get_executor(), idle_limit);
    std::weak_ptr<bool> alive;
    auto guard = std::make_shared<bool>(true);
    alive = guard;
    idle.async_wait([this, alive](boost::system::error_code waited) {
        if (!waited && alive.lock() && reading_)
            close();
    });
    co_await http::async_read_header(
        socket_, buffer_, parser, asio::redirect_error(asio::use_awaitable, ec));
    guard.reset();
    idle.cancel();
    if (ec) {
        reading_ = false;
        co_return false;
    }
    if (parser.get()[http::field::expect] == "100-continue") {
        std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        co_await write(std::move(go_on));
    }
    co_await http::async_read(
        socket_, buffer_, parser, asio::redirect_error(asio::use_awaitable, ec));
    reading_ = false;
    if (ec)
        co_return false;
    request_ = parser.release();
    keep_alive_ = request_.keep_alive() && ++requests_ < requests_per_connection;
    co_return true;
}

std::string connection::path() const {
    const std::string_view target(request_.target().data(), request_.target().size());
    return std::string(target.substr(0, target.find('?')));
}

std::string connection::query(std::string_view name) const {
    std::string_view rest(request_.target().data(), request_.target().size());
    const auto start = rest.find('?');
    rest = start == std::string_view::npos ? std::string_view() : rest.substr(start + 1);
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        if (pair.substr(0, pair.find('=')) == name && pair.find('=') != std::string_view::npos)
            return decoded(pair.substr(pair.find('=') + 1));
        rest.remove_prefix(pair.size() == rest.size() ? pair.size() : pair.size() + 1);
    }
    return {};
}

std::string connection::header(std::string_view name) const {
    const auto value = request_[boost::beast::string_view(name.data(), name.size())];
    return std::string(value.data(), value.size());
}

asio::awaitable<void> connection::reply(unsigned status, std::string body, std::string type) {
    keep_alive_ = keep_alive_ && status < 400;
    const auto reason = http::obsolete_reason(static_cast<http::status>(status));
    std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
    head.append(reason.data(), reason.size());
    head += "\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\nContent-Type: " + type +
            "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
            (keep_alive_ ? "Keep-Alive: timeout=5, max=100\r\n\r\n" : "Connection: close\r\n\r\n");
    if (request_.method() != http::verb::head)
        head += body;
    co_await write(std::move(head));
}

asio::awaitable<void>
connection::reply_error(unsigned status, std::string type, std::string message) {
    nlohmann::json error;
    error["error"]["code"] = status;
    error["error"]["message"] = message;
    error["error"]["type"] = type;
    std::string body = error.dump();
    co_await reply(status, std::move(body));
}

asio::awaitable<void> connection::begin_stream() {
    std::string head = "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\n"
                       "X-Accel-Buffering: no\r\nContent-Type: text/event-stream\r\n"
                       "Transfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n\r\n";
    co_await write(std::move(head));
}

asio::awaitable<void> connection::send_event(std::string data) {
    data = "data: " + data + "\n\n";
    std::array<char, 24> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
    std::string chunk = size.data() + data + "\r\n";
    co_await write(std::move(chunk));
}

asio::awaitable<void> connection::end_stream() {
    std::string last = "0\r\n\r\n";
    co_await write(std::move(last));
}

bool connection::client_gone() {
    if (!socket_.is_open())
        return true;
    char byte = 0;
    const ssize_t count = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void connection::close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

asio::awaitable<void> connection::write(std::string bytes) {
    boost::system::error_code ignored;
    co_await asio::async_write(
        socket_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, ignored));
}

} // namespace fake

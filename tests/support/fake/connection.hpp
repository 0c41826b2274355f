#pragma once
// One client connection of the scripted llama-server, and the request that it carries: reading it,
// answering it whole or as a stream, and noticing that the client has gone.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

namespace fake {

namespace asio = boost::asio;
using executor = asio::io_context::executor_type;
using stream_socket = asio::basic_stream_socket<asio::generic::stream_protocol, executor>;
using http_request = boost::beast::http::request<boost::beast::http::string_body>;

class connection {
public:
    explicit connection(stream_socket socket) : socket_(std::move(socket)) {}

    /// False when the client left, sent no HTTP, or was idle for too long.
    asio::awaitable<bool> read_request(std::chrono::milliseconds idle_limit);

    const http_request& request() const noexcept { return request_; }
    std::string path() const;                       ///< without the query
    std::string query(std::string_view name) const; ///< decoded; empty when it is not there
    std::string header(std::string_view name) const;

    /// An error answer closes the connection, as llama-server's do.
    asio::awaitable<void>
    reply(unsigned status, std::string body, std::string type = "application/json; charset=utf-8");
    asio::awaitable<void> reply_error(unsigned status, std::string type, std::string message);

    /// A chunked event stream; begin, any number of events, end. Write errors are ignored: the
    /// caller asks client_gone().
    asio::awaitable<void> begin_stream();
    asio::awaitable<void> send_event(std::string data);
    asio::awaitable<void> end_stream();

    /// Looks at the socket, without waiting.
    bool client_gone();

    bool keep_alive() const noexcept { return keep_alive_; }
    bool reading() const noexcept { return reading_; }
    void close();

private:
    asio::awaitable<void> write(std::string bytes);

    stream_socket socket_;
    boost::beast::flat_buffer buffer_;
    http_request request_;
    bool reading_ = false;
    bool keep_alive_ = true;
    int requests_ = 0;
};

} // namespace fake

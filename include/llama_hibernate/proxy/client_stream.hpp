#pragma once
// A client's connection: TCP or Unix socket, plain or under TLS.

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>

#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

using client_socket = boost::asio::basic_stream_socket<
    boost::asio::generic::stream_protocol,
    boost::asio::io_context::executor_type>;

/// One read and one write may be pending at a time; both can be cancelled, and close() ends both.
class client_stream {
public:
    /// tls is null for a plain connection, and outlives the stream. Sets TCP_NODELAY and
    /// keep-alive.
    client_stream(client_socket socket, boost::asio::ssl::context* tls);

    bool encrypted() const noexcept { return tls_.has_value(); }
    /// The peer's IP address without port; empty on a Unix socket.
    const std::string& peer_address() const noexcept { return peer_address_; }

    /// Nothing to do on a plain connection.
    awaitable<void> handshake(boost::system::error_code& error);

    awaitable<std::size_t>
    read_some(boost::asio::mutable_buffer into, boost::system::error_code& error);

    /// Writes both, as one message where the socket can.
    awaitable<void>
    write(std::array<boost::asio::const_buffer, 2> pieces, boost::system::error_code& error);

    /// Completes when the connection is broken in both directions; reads nothing.
    awaitable<void> broken();

    /// Says that no more is sent: FIN, after close_notify under TLS.
    awaitable<void> finish();

    /// After finish(), waits for something to throw away; an error when the client has closed.
    /// Closing with unread bytes would reset the connection and could destroy the answer before the
    /// client has read it.
    awaitable<void> discard_some(boost::system::error_code& error);

    /// Ends our direction alone; false under TLS, which knows no such thing.
    bool send_fin() noexcept;

    void cancel() noexcept; ///< what is pending ends with an error
    void close() noexcept;  ///< at once; what was written is still delivered
    void reset() noexcept;  ///< at once, so that the client sees an error and no orderly end

private:
    client_socket socket_;
    std::optional<boost::asio::ssl::stream<client_socket&>> tls_;
    std::string peer_address_;
};

} // namespace hibernate::proxy

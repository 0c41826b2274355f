#include "tunnel.hpp"

#include <array>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>

#include "llama_hibernate/base/awaitable.hpp"

#include "error_into.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator&&;
using boost::system::error_code;

namespace {

// Either side may end its direction alone; an error in one ends both.
awaitable<void> tunnel_up(client_side& client, upstream_socket& upstream) {
    error_code error;
    for (;;) {
        const auto piece = client.buffer.cdata();
        co_await asio::async_write(upstream, piece, error_into(error));
        client.buffer.consume(piece.size());
        if (error || client.half_closed) {
            break;
        }
        co_await client.read_more(error);
        if (error) {
            client.half_closed = true;
            break;
        }
    }
    error_code ignored;
    if (client.half_closed && (!error || error == asio::error::eof)) {
        upstream.shutdown(asio::socket_base::shutdown_send, ignored);
    } else {
        upstream.close(ignored);
        client.stream.close();
    }
}

awaitable<void> tunnel_down(
    client_side& client, upstream_socket& upstream, boost::beast::flat_buffer& from_upstream) {
    error_code error;
    while (!error) {
        const auto bytes = from_upstream.cdata();
        const std::array<asio::const_buffer, 2> pieces{bytes, asio::const_buffer()};
        co_await client.stream.write(pieces, error);
        from_upstream.consume(bytes.size());
        if (!error) {
            const auto into = from_upstream.prepare(from_upstream.max_size());
            const auto size = co_await upstream.async_read_some(into, error_into(error));
            from_upstream.commit(size);
        }
    }
    if (error == asio::error::eof && client.stream.send_fin()) {
        co_return;
    }
    error_code ignored;
    upstream.close(ignored);
    client.stream.close();
}

} // namespace

awaitable<void>
tunnel(client_side& client, upstream_socket& upstream, boost::beast::flat_buffer& from_upstream) {
    auto up = tunnel_up(client, upstream);
    auto down = tunnel_down(client, upstream, from_upstream);
    co_await (std::move(up) && std::move(down));
}

} // namespace hibernate::proxy

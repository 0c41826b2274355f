#include "llama_hibernate/proxy/client_stream.hpp"

#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "write_at_once.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// A peer that vanished without a FIN is noticed within 60 s + 3 * 10 s.
void set_tcp_options(client_socket& socket) {
    error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto set = [&socket](int option, int value) {
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
    };
#ifdef TCP_KEEPIDLE
    set(TCP_KEEPIDLE, 60);
#elif defined(TCP_KEEPALIVE)
    set(TCP_KEEPALIVE, 60);
#endif
    set(TCP_KEEPINTVL, 10);
    set(TCP_KEEPCNT, 3);
}

std::string address_of(const client_socket& socket) {
    error_code error;
    const auto peer = socket.remote_endpoint(error);
    const int family = error ? AF_UNSPEC : peer.data()->sa_family;
    if (family != AF_INET && family != AF_INET6) {
        return {};
    }
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), peer.data(), peer.size());
    const auto address = endpoint.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    }
    return address.to_string();
}

} // namespace

client_stream::client_stream(client_socket socket, asio::ssl::context* tls)
    : socket_(std::move(socket)), peer_address_(address_of(socket_)) {
    if (!peer_address_.empty()) {
        set_tcp_options(socket_);
    }
    error_code ignored;
    socket_.non_blocking(true, ignored);
    if (tls != nullptr) {
        tls_.emplace(socket_, *tls);
    }
}

awaitable<void> client_stream::handshake(error_code& error) {
    if (tls_) {
        co_await tls_->async_handshake(asio::ssl::stream_base::server, error_into(error));
    }
}

awaitable<std::size_t> client_stream::read_some(asio::mutable_buffer into, error_code& error) {
    std::size_t size = 0;
    if (tls_) {
        size = co_await tls_->async_read_some(into, error_into(error));
    } else {
        size = co_await socket_.async_read_some(into, error_into(error));
    }
    co_return size;
}

awaitable<void> client_stream::write(std::array<asio::const_buffer, 2> pieces, error_code& error) {
    if (tls_) {
        co_await asio::async_write(*tls_, pieces, error_into(error));
        co_return;
    }
    write_at_once(socket_, pieces, error);
    if (!error && asio::buffer_size(pieces) > 0) {
        co_await asio::async_write(socket_, pieces, error_into(error));
    }
}

awaitable<void> client_stream::broken() {
    error_code ignored;
    co_await socket_.async_wait(asio::socket_base::wait_error, error_into(ignored));
}

awaitable<void> client_stream::finish() {
    error_code ignored;
    if (tls_) {
        co_await tls_->async_shutdown(error_into(ignored));
    }
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

awaitable<void> client_stream::discard_some(error_code& error) {
    constexpr std::size_t piece = 4096;
    std::array<char, piece> unwanted;
    const auto buffer = asio::buffer(unwanted);
    co_await socket_.async_read_some(buffer, error_into(error));
}

bool client_stream::send_fin() noexcept {
    error_code ignored;
    if (!tls_) {
        socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    }
    return !tls_;
}

void client_stream::cancel() noexcept {
    error_code ignored;
    socket_.cancel(ignored);
}

void client_stream::close() noexcept {
    error_code ignored;
    socket_.close(ignored);
}

void client_stream::reset() noexcept {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
}

} // namespace hibernate::proxy

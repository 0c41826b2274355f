#pragma once
// What the connections of one server share, and what the parts of one connection share.

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/client_stream.hpp"
#include "llama_hibernate/proxy/gate.hpp"
#include "llama_hibernate/proxy/hooks.hpp"
#include "llama_hibernate/proxy/server.hpp"
#include "llama_hibernate/proxy/upstream_link.hpp"

namespace hibernate::proxy {

using steady_time = std::chrono::steady_clock::time_point;
using steady_timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock,
    boost::asio::wait_traits<std::chrono::steady_clock>,
    boost::asio::io_context::executor_type>;

class connection;

/// Everything that outlives a single connection. Connections hold it by shared_ptr, because their
/// coroutines may be destroyed after the server, with the io_context.
struct shared_state : std::enable_shared_from_this<shared_state> {
    shared_state(
        boost::asio::io_context& io, server_settings how, proxy::gate& before, proxy::hooks& owner);

    boost::asio::io_context& context;
    const server_settings settings;
    proxy::gate& gate;
    proxy::hooks* hooks; ///< null once the server is gone
    std::optional<boost::asio::generic::stream_protocol::endpoint> upstream;
    std::optional<boost::asio::ssl::context> tls;
    upstream_links links;
    std::list<connection*> connections;

    /// One exchange, from its head to the end of its response.
    class exchange_count {
    public:
        explicit exchange_count(shared_state& of);
        ~exchange_count();
        exchange_count(const exchange_count&) = delete;
        exchange_count& operator=(const exchange_count&) = delete;

    private:
        shared_state& of_;
    };
    std::size_t exchanges = 0;
    steady_timer became_idle; ///< never expires; cancelled when the last exchange ends

    /// Sees to it that every exchange in progress watches its client, from its second tick on: most
    /// are over before that, and then it has cost them nothing. The tick ends with the last
    /// exchange that has to be asked.
    void watch_clients_soon();

private:
    void watch_clients();

    steady_timer watch_tick_;
    bool ticking_ = false;
};

/// The client's side of a connection.
struct client_side {
    client_side(client_socket socket, boost::asio::ssl::context* tls, std::size_t buffer_size);

    client_stream stream;
    /// What was read and not yet used: a head, a part of a body, requests that follow. Never grows.
    boost::beast::flat_buffer buffer;
    bool half_closed = false; ///< the client's FIN came, and it is not taken as its end
    // When the server gives up on a client that sends, or takes, nothing.
    steady_time deadline = steady_time::max();
    steady_time write_deadline = steady_time::max();

    std::string_view unread() const noexcept;

    /// Reads once, behind what is in the buffer; needs room there.
    awaitable<void> read_more(boost::system::error_code& error);

    /// Whether a read that ended so says that the client has gone. Where a FIN does not mean that,
    /// it is noted.
    bool has_left(const boost::system::error_code& read_end, half_close meaning) noexcept;

    /// Completes when the client has gone; meanwhile keeps what it sends early, as much as the
    /// buffer takes. While the buffer is full, only a reset tells that it has gone.
    awaitable<void> gone(half_close meaning);
};

} // namespace hibernate::proxy

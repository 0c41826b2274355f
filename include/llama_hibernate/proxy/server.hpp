#pragma once
// The proxy as its owner sees it: listeners, the connections they accepted, and the child's
// address.
//
// One thread: every call belongs on the io_context's thread. Bodies are relayed as raw bytes
// through one fixed buffer per direction; nothing is buffered whole, and there is no total time
// limit.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/gate.hpp"
#include "llama_hibernate/proxy/hooks.hpp"

namespace hibernate::proxy {

/// What a client that shuts down its sending side means.
enum class half_close {
    abort, ///< it has gone: the exchange ends (llama-server can only learn it this way)
    keep,  ///< it still listens
};

struct server_settings {
    /// As llama-server takes them: addresses or names, and paths that end in ".sock".
    std::vector<std::string> hosts{"127.0.0.1"};
    std::uint16_t port = 8080; ///< 0: any free one
    bool reuse_port = false;
    std::string tls_key_file; ///< PEM; TLS is on when both are given
    std::string tls_certificate_file;
    std::string health_path = "/health"; ///< with the API prefix; ".../v1/health" counts as well

    std::size_t max_connections = 1024;              ///< beyond it a client gets 503
    std::size_t head_limit = std::size_t{64} * 1024; ///< bytes; beyond it 431
    std::chrono::milliseconds head_deadline{30'000}; ///< for a whole head, once its first byte came
    std::chrono::milliseconds idle_timeout{120'000}; ///< llama-swap keeps connections for 90 s
    std::chrono::milliseconds linger_silence{2'000}; ///< from a client whose last answer is sent
    std::chrono::milliseconds write_timeout{
        3'600'000}; ///< taking nothing at all; llama-server's own
    half_close on_half_close = half_close::abort;

    /// While no more connections to the child than this are open, those that could be used again
    /// are, for requests that may be sent twice; 0: every request gets a new one. It must be less
    /// than the child's threads for connections.
    std::size_t kept_upstream = 0;
};

class server {
public:
    /// gate_ and hooks_ outlive the server. Throws startup_error for a certificate it cannot use.
    server(boost::asio::io_context& context, server_settings settings, gate& gate, hooks& hooks);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Binds and listens on every host and starts to accept. A stale ".sock" file (nobody answers
    /// on it) is replaced. Either all are bound or, with the error, none.
    boost::system::error_code listen();

    /// "http://127.0.0.1:8080", one for each listener, with the ports really bound.
    std::vector<std::string> urls() const;

    /// Where the child listens, on TCP or a Unix socket; until it is set, requests get 503.
    void set_upstream(const boost::asio::generic::stream_protocol::endpoint& child);

    /// The child is gone, and somebody else may listen there.
    void forget_upstream();

    /// Exchanges between a client's head and the end of its response, tunnels included.
    std::size_t exchanges_in_flight() const noexcept;

    /// Completes when no exchange is in flight; cancellable.
    awaitable<void> drained();

    /// Stops listening (and removes our ".sock" files); connections go on.
    void close_listeners();

    /// Closes every client and upstream connection at once.
    void cut_connections();

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace hibernate::proxy

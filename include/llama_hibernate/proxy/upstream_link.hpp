#pragma once
// Connections to the child, and which of them wait to be used again.
//
// llama-server spends one thread of a small pool on every connection, busy or idle, and closes an
// idle one after five seconds. So one may wait only while there are threads for all that are open,
// and not for long; whoever needs a new one when they run short ends the wait of all. A link
// belongs to one client's connection, and what is known to be able to fail on a connection that
// the child has just closed does not use one twice: exchange.hpp tells which requests do.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>

namespace hibernate::proxy {

/// TCP or a Unix socket, as the child listens.
using upstream_socket = boost::asio::basic_stream_socket<
    boost::asio::generic::stream_protocol,
    boost::asio::io_context::executor_type>;

class upstream_links;

class upstream_link {
public:
    explicit upstream_link(upstream_links& all); ///< upstream_links::make()
    ~upstream_link();
    upstream_link(const upstream_link&) = delete;
    upstream_link& operator=(const upstream_link&) = delete;

    upstream_socket socket;
    boost::beast::flat_buffer received; ///< and not used yet. Never grows
    bool stale = false; ///< served a request before, and nothing came for the one it has now

private:
    friend class upstream_links;
    void close() noexcept;

    upstream_links& all_;
    std::size_t child_; ///< to which one of those that there were
    bool counted_ = true;
    std::chrono::steady_clock::time_point idle_since_;
    /// What comes while it waits: a byte, an end or an error.
    struct unasked {
        char byte = 0;
        bool came = false;
    };
    std::shared_ptr<unasked> unasked_ = std::make_shared<unasked>();
};

/// All links of a server; outlives them.
class upstream_links {
public:
    using time_point = std::chrono::steady_clock::time_point;
    /// How long one waits; the child's own patience is more than twice that.
    static constexpr std::chrono::milliseconds longest_wait{2'000};

    /// none waits while more than `most` are open.
    upstream_links(boost::asio::io_context& context, std::size_t most);

    /// One that is not connected yet. If there are too many now, the idle ones are closed first.
    std::unique_ptr<upstream_link> make();

    /// Lets it wait for its client's next request, and tells whether it may: its response was read
    /// to the end, and nothing but it came. Idle until take().
    bool keep(upstream_link& link, time_point now);

    /// Ends its wait. Whether it can be used: it was not closed by either side, and not a byte
    /// came, as far as the event loop has noticed. The child may still close it at any time.
    bool take(upstream_link& link, time_point now);

    void close_idle() noexcept;
    void close_old(time_point now) noexcept;

    /// The child has gone; a link to it is never kept.
    void forget_child() noexcept;

    std::size_t idle() const noexcept { return idle_.size(); }

private:
    friend class upstream_link;

    boost::asio::io_context& context_;
    const std::size_t most_;
    std::size_t open_ = 0;
    std::size_t child_ = 0;
    std::vector<upstream_link*> idle_;
};

} // namespace hibernate::proxy

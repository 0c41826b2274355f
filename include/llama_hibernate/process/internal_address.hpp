#pragma once
// Where the child listens, for us alone: a loopback port of its own, or a Unix socket in a
// directory that nobody else can enter.

#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include "llama_hibernate/process/port_owner.hpp"
#include "llama_hibernate/process/socket_directory.hpp"

namespace hibernate::process {

class internal_address {
public:
    /// On loopback ports.
    explicit internal_address(boost::asio::io_context& context) : context_(context) {}
    /// On a socket in one of these places (socket_places()).
    internal_address(
        boost::asio::io_context& context, std::vector<std::filesystem::path> socket_places)
        : context_(context), places_(std::move(socket_places)) {}

    /// Chooses one for a child that is about to be started: another port, or a socket path on which
    /// nothing is left of the child before.
    boost::system::error_code renew();

    // What was chosen: the child's --host and --port (0: none is needed), where to connect, and its
    // name in the log.
    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    const boost::asio::generic::stream_protocol::endpoint& endpoint() const noexcept {
        return endpoint_;
    }
    std::string describe() const;

    /// Who listens there. Nothing must be sent to a stranger. On a socket there is none.
    port_owner look(int child) const;

    /// Whether a child could not listen there, since another process does.
    bool is_taken() const;

    void remove() noexcept; ///< the directory, for good

private:
    boost::asio::io_context& context_;
    std::optional<std::vector<std::filesystem::path>> places_; ///< none: loopback ports
    std::optional<socket_directory> directory_;
    std::string host_;
    std::uint16_t port_ = 0;
    boost::asio::generic::stream_protocol::endpoint endpoint_;
};

} // namespace hibernate::process

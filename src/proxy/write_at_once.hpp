#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>

namespace hibernate::proxy {

/// Writes what a socket in non_blocking mode takes without waiting, and leaves the rest in pieces.
/// Nearly always that is all, and then the turn of the event loop is spared, which costs as much as
/// the write itself.
template <typename Socket>
std::size_t write_at_once(
    Socket& socket,
    std::array<boost::asio::const_buffer, 2>& pieces,
    boost::system::error_code& error) {
    const auto written = socket.write_some(pieces, error);
    if (error == boost::asio::error::would_block) {
        error = {};
    }
    auto left = written;
    for (auto& piece : pieces) {
        const auto part = std::min(left, piece.size());
        piece += part;
        left -= part;
    }
    return written;
}

} // namespace hibernate::proxy

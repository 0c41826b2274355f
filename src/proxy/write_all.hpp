#pragma once

#include <array>
#include <cstddef>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

using two_pieces = std::array<boost::asio::const_buffer, 2>;

/// What a socket takes without waiting; it does not wait for room (non_blocking(true)). A write
/// that the event loop does in its turn costs as much as the write itself, and nearly all of them
/// need not wait.
template <typename Socket>
std::size_t
write_at_once(Socket& socket, const two_pieces& pieces, boost::system::error_code& error) {
    const auto size = socket.write_some(pieces, error);
    if (error == boost::asio::error::would_block) {
        error = {};
    }
    return size;
}

/// Whether all of them were written at once. If not, the caller writes the rest, unless `error` is
/// set.
inline bool drop_written(two_pieces& pieces, std::size_t written) {
    for (auto& piece : pieces) {
        const auto part = std::min(written, piece.size());
        piece += part;
        written -= part;
    }
    return boost::asio::buffer_size(pieces) == 0;
}

} // namespace hibernate::proxy

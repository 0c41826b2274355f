#pragma once
// An upgraded connection: bytes pass both ways, and nobody looks at them.

#include <boost/beast/core/flat_buffer.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/session.hpp"

namespace hibernate::proxy {

/// Completes when both directions have ended. What is in the two buffers goes first. Everything
/// outlives the tunnel.
awaitable<void>
tunnel(client_side& client, upstream_socket& upstream, boost::beast::flat_buffer& from_upstream);

} // namespace hibernate::proxy

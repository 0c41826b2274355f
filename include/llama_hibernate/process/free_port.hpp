#pragma once

#include <cstdint>

#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>

namespace hibernate::process {

/// A loopback port that is free now. Nothing holds it until somebody listens there.
boost::system::result<std::uint16_t> find_free_port(boost::asio::io_context& context);

/// Whether a child could listen on this loopback port.
bool is_free_port(boost::asio::io_context& context, std::uint16_t port);

} // namespace hibernate::process

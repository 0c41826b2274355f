#pragma once
// Coroutines on the one network thread. They name its executor's type: the general one, Asio's
// default, costs an indirect call and a wrapped handler at every step.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hibernate {

using network_executor = boost::asio::io_context::executor_type;

template <typename T>
using awaitable = boost::asio::awaitable<T, network_executor>;

/// The completion token for them.
inline constexpr boost::asio::use_awaitable_t<network_executor> use_awaitable{};

} // namespace hibernate

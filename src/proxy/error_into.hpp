#pragma once

#include <boost/asio/redirect_error.hpp>
#include <boost/system/error_code.hpp>

#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

/// The completion token of the proxy: a failure is stored instead of thrown.
inline auto error_into(boost::system::error_code& error) {
    return boost::asio::redirect_error(use_awaitable, error);
}

} // namespace hibernate::proxy

#include "llama_hibernate/process/internal_address.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/core.h>

#include "llama_hibernate/process/free_port.hpp"

namespace hibernate::process {

namespace asio = boost::asio;
using boost::system::error_code;

error_code internal_address::renew() {
    if (!places_) {
        const auto port = find_free_port(context_);
        if (!port) {
            return port.error();
        }
        const auto loopback = asio::ip::address_v4::loopback();
        host_ = loopback.to_string();
        port_ = *port;
        endpoint_ = asio::ip::tcp::endpoint(loopback, port_);
        return {};
    }
    if (!directory_) {
        auto made = socket_directory::make_in(*places_);
        if (!made) {
            return made.error();
        }
        directory_.emplace(std::move(*made));
    }
    directory_->clear();
    host_ = directory_->socket_path();
    endpoint_ = asio::local::stream_protocol::endpoint(host_);
    return {};
}

std::string internal_address::describe() const {
    return places_ ? host_ : fmt::format("port {}", port_);
}

port_owner internal_address::look(int child) const {
    return places_ ? port_owner::child : who_listens(port_, child);
}

bool internal_address::is_taken() const {
    return !places_ && !is_free_port(context_, port_);
}

void internal_address::remove() noexcept {
    if (directory_) {
        directory_->remove();
    }
}

} // namespace hibernate::process

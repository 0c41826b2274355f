#include "llama_hibernate/process/free_port.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace hibernate::process {

namespace asio = boost::asio;

boost::system::result<std::uint16_t> find_free_port(asio::io_context& context) {
    asio::ip::tcp::acceptor probe(context);
    boost::system::error_code ec;
    probe.open(asio::ip::tcp::v4(), ec);
    if (!ec) {
        probe.bind({asio::ip::address_v4::loopback(), std::uint16_t{0}}, ec);
    }
    const auto bound = ec ? asio::ip::tcp::endpoint() : probe.local_endpoint(ec);
    if (ec) {
        return ec;
    }
    return bound.port();
}

bool is_free_port(asio::io_context& context, std::uint16_t port) {
    asio::ip::tcp::acceptor probe(context);
    boost::system::error_code ec;
    probe.open(asio::ip::tcp::v4(), ec);
    if (!ec) {
        // As llama-server does it: a port where connections have only just ended is free.
        probe.set_option(asio::socket_base::reuse_address(true), ec);
        probe.bind({asio::ip::address_v4::loopback(), port}, ec);
    }
    return ec != asio::error::address_in_use;
}

} // namespace hibernate::process

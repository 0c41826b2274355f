// The proxy alone, in front of a server on loopback: what tests/bench/proxy.sh measures.
//
//     bench_proxy PORT UPSTREAM_PORT KEPT        KEPT: server_settings::kept_upstream

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>

#include "llama_hibernate/proxy/server.hpp"

namespace asio = boost::asio;
namespace proxy = hibernate::proxy;

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: bench_proxy PORT UPSTREAM_PORT KEPT\n";
        return 2;
    }
    asio::io_context context(1);
    proxy::gate gate(context, std::chrono::seconds(1));
    proxy::hooks nobody;
    proxy::server_settings settings;
    settings.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
    settings.max_connections = 4096;
    settings.kept_upstream = static_cast<std::size_t>(std::atoi(argv[3]));
    proxy::server server(context, settings, gate, nobody);
    if (const auto error = server.listen()) {
        std::cerr << "cannot listen: " << error.message() << "\n";
        return 1;
    }
    const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
    server.set_upstream(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port));
    gate.open();
    asio::signal_set stop(context, SIGTERM, SIGINT);
    stop.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
    context.run();
}

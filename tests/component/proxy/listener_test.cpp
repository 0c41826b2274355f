// Where clients can connect.

#include <filesystem>
#include <string>
#include <sys/stat.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "catch.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/listener.hpp"
#include "proxy_harness.hpp"
#include "temporary_directory.hpp"

using hibernate::awaitable;
using namespace hibernate::test;
using hibernate::proxy::client_socket;
using hibernate::proxy::listener;
using local = asio::local::stream_protocol;

namespace {

/// A listener that counts its clients, and keeps none.
struct counted_listener {
    asio::io_context context;
    int clients = 0;
    listener at{context, [this](client_socket) { ++clients; }};

    error_code listen(const std::vector<std::string>& hosts, std::uint16_t port = 0) {
        return at.listen(hosts, port, false);
    }

    template <typename Endpoint>
    bool reachable(const Endpoint& endpoint) {
        context.restart();
        context.poll(); // those who came before
        typename Endpoint::protocol_type::socket socket(context);
        error_code error;
        socket.connect(endpoint, error);
        const int before = clients;
        context.restart();
        context.poll();
        return !error && clients == before + 1;
    }
};

std::uint16_t port_of(const std::string& address) {
    return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

bool has_ipv6() {
    asio::io_context context;
    tcp::acceptor probe(context);
    error_code error;
    probe.open(tcp::v6(), error);
    if (!error) {
        probe.bind({asio::ip::address_v6::loopback(), 0}, error);
    }
    return !error;
}

} // namespace

TEST_CASE("a listener has several addresses, and port 0 is one port for all") {
    counted_listener clients;
    REQUIRE_FALSE(clients.listen({"127.0.0.1", "127.0.0.2", "127.0.0.1"}));
    const auto addresses = clients.at.addresses();
    REQUIRE(addresses.size() == 2);
    const auto port = port_of(addresses[0]);
    CHECK(port != 0);
    CHECK(addresses[0] == "127.0.0.1:" + std::to_string(port));
    CHECK(addresses[1] == "127.0.0.2:" + std::to_string(port));
    CHECK(clients.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port)));
    CHECK(clients.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.2"), port)));
    clients.at.close();
    CHECK_FALSE(clients.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port)));
}

TEST_CASE("a name stands for all of its addresses") {
    counted_listener clients;
    REQUIRE_FALSE(clients.listen({"localhost"}));
    const auto port = port_of(clients.at.addresses().at(0));
    CHECK(clients.reachable(tcp::endpoint(asio::ip::address_v4::loopback(), port)));
}

TEST_CASE("IPv6 addresses are listened on as well") {
    if (!has_ipv6()) {
        WARN("no IPv6 on this machine");
        return;
    }
    const std::string written = GENERATE(as<std::string>{}, "::1", "[::1]");
    counted_listener clients;
    REQUIRE_FALSE(clients.listen({written}));
    const auto address = clients.at.addresses().at(0);
    CHECK(address.starts_with("[::1]:"));
    CHECK(clients.reachable(tcp::endpoint(asio::ip::address_v6::loopback(), port_of(address))));
}

TEST_CASE("the unspecified addresses of both families go together") {
    if (!has_ipv6()) {
        return;
    }
    counted_listener both;
    REQUIRE_FALSE(both.listen({"0.0.0.0", "::"}));
    const auto port = port_of(both.at.addresses().at(0));
    CHECK(both.reachable(tcp::endpoint(asio::ip::address_v4::loopback(), port)));
    CHECK(both.reachable(tcp::endpoint(asio::ip::address_v6::loopback(), port)));

    counted_listener alone;
    REQUIRE_FALSE(alone.listen({"::"}));
    const auto dual = port_of(alone.at.addresses().at(0));
    CHECK(alone.reachable(tcp::endpoint(asio::ip::address_v4::loopback(), dual)));
}

TEST_CASE("the unspecified IPv6 address leaves IPv4 to the others") {
    if (!has_ipv6()) {
        return;
    }
    counted_listener both;
    REQUIRE_FALSE(both.listen({"::", "127.0.0.1"}));
    const auto port = port_of(both.at.addresses().at(0));
    CHECK(both.reachable(tcp::endpoint(asio::ip::address_v6::loopback(), port)));
    CHECK(both.reachable(tcp::endpoint(asio::ip::address_v4::loopback(), port)));
    CHECK_FALSE(both.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.2"), port)));

    const temporary_directory directory;
    counted_listener alone;
    REQUIRE_FALSE(alone.listen({(directory.path() / "a.sock").string(), "::"}));
    const auto dual = port_of(alone.at.addresses().at(1));
    CHECK(alone.reachable(tcp::endpoint(asio::ip::address_v4::loopback(), dual)));
}

TEST_CASE("either all addresses are bound or none") {
    counted_listener other;
    REQUIRE_FALSE(other.listen({"127.0.0.2"}));
    const auto port = port_of(other.at.addresses().at(0));
    counted_listener clients;
    const auto error = clients.listen({"127.0.0.1", "127.0.0.2"}, port);
    CHECK(error == asio::error::address_in_use);
    CHECK(clients.at.addresses().empty());
    CHECK_FALSE(clients.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port)));
    // It may be tried again, as soon as the other one has gone.
    other.at.close();
    CHECK_FALSE(clients.listen({"127.0.0.1", "127.0.0.2"}, port));
    CHECK(clients.reachable(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port)));
}

TEST_CASE("an address that is not ours, or no address at all, is an error") {
    counted_listener clients;
    CHECK(clients.listen({"192.0.2.1"}));
    CHECK(clients.listen({"no such host"}));
    CHECK(clients.listen({"/no/such/directory/x.sock"}));
    CHECK(clients.listen({"/" + std::string(200, 'x') + ".sock"}));
}

TEST_CASE("a socket file is there for owner and group while we listen") {
    const temporary_directory directory;
    const auto path = (directory.path() / "a.sock").string();
    counted_listener clients;
    REQUIRE_FALSE(clients.listen({path}));
    CHECK(clients.at.addresses() == std::vector{path});
    struct stat about {};
    REQUIRE(lstat(path.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777U) == 0660U);
    CHECK(clients.reachable(local::endpoint(path)));
    clients.at.close();
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a stale socket file is replaced, a living one is not") {
    const temporary_directory directory;
    const auto path = (directory.path() / "a.sock").string();
    {
        asio::io_context context;
        const local::acceptor dies_without_cleaning(context, local::endpoint(path));
    }
    REQUIRE(std::filesystem::exists(path));
    counted_listener clients;
    REQUIRE_FALSE(clients.listen({path}));
    CHECK(clients.reachable(local::endpoint(path)));

    counted_listener second;
    CHECK(second.listen({path}) == asio::error::address_in_use);
    CHECK(clients.reachable(local::endpoint(path)));
}

TEST_CASE("a living one whose queue is full is not waited for") {
    const temporary_directory directory;
    const auto path = (directory.path() / "a.sock").string();
    asio::io_context context;
    local::acceptor busy(context);
    busy.open();
    busy.bind(local::endpoint(path));
    busy.listen(0);
    std::vector<local::socket> waiting;
    int result = 0;
    while (result == 0 && waiting.size() < 1000) {
        auto& next = waiting.emplace_back(context, local());
        next.native_non_blocking(true);
        const local::endpoint at(path);
        result = ::connect(next.native_handle(), at.data(), at.size());
    }
    REQUIRE(result != 0);
    counted_listener clients;
    CHECK(clients.listen({path}) == asio::error::address_in_use);
}

TEST_CASE("a file that is no socket is never replaced") {
    const temporary_directory directory;
    const auto path = directory.path() / "a.sock";
    std::filesystem::create_directory(path);
    counted_listener clients;
    CHECK(clients.listen({path.string()}) == asio::error::address_in_use);
    CHECK(std::filesystem::is_directory(path));
}

TEST_CASE("a socket file that is another's by now stays") {
    const temporary_directory directory;
    const auto path = (directory.path() / "a.sock").string();
    counted_listener first;
    REQUIRE_FALSE(first.listen({path}));
    std::filesystem::remove(path);
    counted_listener second;
    REQUIRE_FALSE(second.listen({path}));
    first.at.close();
    CHECK(second.reachable(local::endpoint(path)));
}

TEST_CASE("a client on a socket file has no address to forward") {
    const temporary_directory directory;
    auto settings = loopback_settings();
    settings.hosts = {(directory.path() / "a.sock").string()};
    proxy_world world(settings);
    CHECK(world.server->urls() == std::vector{"unix:" + settings.hosts[0]});
    world.run([&]() -> awaitable<void> {
        local::socket socket(world.context);
        socket.connect(local::endpoint(settings.hosts[0]));
        const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        asio::write(socket, asio::buffer(request));
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.find("X-Forwarded-For") == std::string::npos);
    });
}

TEST_CASE("SO_REUSEPORT lets two listeners share a port") {
    asio::io_context context;
    const auto ignore = [](client_socket) {};
    listener first(context, ignore);
    REQUIRE_FALSE(first.listen({"127.0.0.1"}, 0, true));
    const auto port = port_of(first.addresses().at(0));
    listener second(context, ignore);
    CHECK_FALSE(second.listen({"127.0.0.1"}, port, true));
    listener third(context, ignore);
    CHECK(third.listen({"127.0.0.1"}, port, false) == asio::error::address_in_use);
}

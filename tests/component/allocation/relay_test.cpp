// What passes through the proxy costs no memory: it is counted on the proxy's thread, while the
// client and the child are this one.

#include <cstdlib>
#include <future>
#include <new>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "catch.hpp"
#include "llama_hibernate/proxy/server.hpp"

namespace {

thread_local std::size_t allocations = 0;

} // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(std::size_t size) {
    ++allocations;
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    ++allocations;
    const auto step = static_cast<std::size_t>(alignment);
    if (void* const memory = std::aligned_alloc(step, (size + step - 1) / step * step)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace {

namespace asio = boost::asio;
namespace proxy = hibernate::proxy;
using asio::ip::tcp;

constexpr std::string_view chunk = "6\r\nabcdef\r\n";
constexpr int chunks_a_round = 200;
constexpr int most_rounds = 20;

class relaying {
public:
    relaying()
        : gate_(context_, std::chrono::seconds(1)), server_(context_, settings(), gate_, hooks_),
          child_listener_(here_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          client_(here_), child_(here_) {
        REQUIRE_FALSE(server_.listen());
        server_.set_upstream(child_listener_.local_endpoint());
        gate_.open();
        thread_ = std::thread([this] { context_.run(); });
    }
    ~relaying() {
        context_.stop();
        thread_.join();
    }
    relaying(const relaying&) = delete;
    relaying& operator=(const relaying&) = delete;

    void connect(std::string_view request) {
        const auto url = server_.urls().at(0);
        const auto port = static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
        client_.connect({asio::ip::address_v4::loopback(), port});
        client_.set_option(tcp::no_delay(true));
        asio::write(client_, asio::buffer(request));
        child_listener_.accept(child_);
        child_.set_option(tcp::no_delay(true));
        read_head(child_);
    }

    static void read_head(tcp::socket& from) {
        std::string head;
        char byte = 0;
        while (!head.ends_with("\r\n\r\n")) {
            asio::read(from, asio::buffer(&byte, 1));
            head += byte;
        }
    }

    /// So many chunks, each of which arrives before the next one is sent.
    static void pass(tcp::socket& from, tcp::socket& to) {
        std::string received(chunk.size(), '\0');
        for (int count = 0; count < chunks_a_round; ++count) {
            asio::write(from, asio::buffer(chunk));
            asio::read(to, asio::buffer(received));
            REQUIRE(received == chunk);
        }
    }

    std::size_t allocations_so_far() {
        std::promise<std::size_t> answer;
        asio::post(context_, [&answer] { answer.set_value(allocations); });
        return answer.get_future().get();
    }

    /// The fewest that a round costs: now and then something else happens on the thread, a timer.
    std::size_t allocations_a_round(tcp::socket& from, tcp::socket& to) {
        std::size_t fewest = SIZE_MAX;
        for (int round = 0; round < most_rounds && fewest > 0; ++round) {
            const auto before = allocations_so_far();
            pass(from, to);
            fewest = std::min(fewest, allocations_so_far() - before);
        }
        return fewest;
    }

    tcp::socket& client() { return client_; }
    tcp::socket& child() { return child_; }

private:
    static proxy::server_settings settings() {
        proxy::server_settings any_port;
        any_port.port = 0;
        return any_port;
    }

    asio::io_context context_;
    proxy::gate gate_;
    proxy::hooks hooks_;
    proxy::server server_;
    asio::io_context here_;
    tcp::acceptor child_listener_;
    tcp::socket client_;
    tcp::socket child_;
    std::thread thread_;
};

} // namespace

TEST_CASE("a chunk of a response passes without an allocation") {
    relaying world;
    world.connect("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    asio::write(world.child(), asio::buffer(head));
    relaying::read_head(world.client());
    CHECK(world.allocations_a_round(world.child(), world.client()) == 0);
}

TEST_CASE("a chunk of a request passes without an allocation") {
    relaying world;
    world.connect("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK(world.allocations_a_round(world.client(), world.child()) == 0);
}

// What reading the receipt of a large streamed response costs: processor time of the proxy's thread
// for one response without an observer, with one that only counts bytes, and with one that reads
// the receipt; and of the reader alone.
//
//     bench_receipt [MIB] [ROUNDS]     256 and 5 unless given

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fmt/core.h>

#include "llama_hibernate/llama/receipt_reader.hpp"
#include "llama_hibernate/proxy/gate.hpp"
#include "llama_hibernate/proxy/server.hpp"

using namespace hibernate;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

class counting_observer : public proxy::body_observer {
public:
    void see(std::string_view payload) noexcept override { bytes_ += payload.size(); }

private:
    std::size_t bytes_ = 0;
};

class reading_observer : public proxy::body_observer {
public:
    ~reading_observer() override {
        if (!reader_.result()) {
            fmt::print("no receipt was found\n");
        }
    }
    void see(std::string_view payload) noexcept override { reader_.feed(payload); }

private:
    llama::receipt_reader reader_;
};

class observing_hooks : public proxy::hooks {
public:
    std::function<std::unique_ptr<proxy::body_observer>()> make;

    std::unique_ptr<proxy::body_observer>
    observe_response(const proxy::request_view&, const proxy::response_view&) override {
        return make ? make() : nullptr;
    }
};

/// The event of one token, as llama-server's chat sends it.
std::string token_event() {
    return R"(data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" a\"b"}}],)"
           R"("created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL",)"
           R"("model":"tiny-llama","system_fingerprint":"b11669","object":"chat.completion.chunk"})"
           "\n\n";
}

std::string last_event() {
    return "data: {\"timings\":{\"cache_n\":3,\"prompt_n\":4}}\n\n";
}

std::string in_chunk(const std::string& payload) {
    return fmt::format("{:x}\r\n{}\r\n", payload.size(), payload);
}

double thread_seconds() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Processor time of the proxy for one response of so many events.
double relay(std::size_t events, observing_hooks& hooks) {
    asio::io_context context;
    proxy::gate gate(context, std::chrono::minutes(1));
    proxy::server_settings settings;
    settings.port = 0;
    proxy::server server(context, settings, gate, hooks);
    if (const auto error = server.listen()) {
        fmt::print("cannot listen: {}\n", error.message());
        std::exit(1);
    }
    asio::io_context others;
    tcp::acceptor acceptor(others, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    server.set_upstream(acceptor.local_endpoint());
    gate.open();
    const auto url = server.urls().at(0);
    const auto port = static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));

    std::thread child([&] {
        auto socket = acceptor.accept();
        std::string request(4096, '\0');
        socket.read_some(asio::buffer(request));
        const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        asio::write(socket, asio::buffer(head));
        std::string some;
        constexpr std::size_t at_once = 64;
        for (std::size_t count = 0; count < at_once; ++count) {
            some += in_chunk(token_event());
        }
        for (std::size_t sent = 0; sent < events; sent += at_once) {
            asio::write(socket, asio::buffer(some));
        }
        asio::write(socket, asio::buffer(in_chunk(last_event()) + "0\r\n\r\n"));
    });
    std::thread client([&] {
        tcp::socket socket(others);
        socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
        const std::string request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        asio::write(socket, asio::buffer(request));
        std::vector<char> bytes(mebibyte);
        boost::system::error_code error;
        while (!error) {
            socket.read_some(asio::buffer(bytes), error);
        }
        socket.close();
        context.stop();
    });
    const auto before = thread_seconds();
    context.run();
    const auto taken = thread_seconds() - before;
    child.join();
    client.join();
    return taken;
}

/// Processor time of the reader alone, fed as the proxy does.
double read_alone(std::string_view body) {
    constexpr std::size_t piece = std::size_t{32} * 1024;
    const auto before = thread_seconds();
    llama::receipt_reader reader;
    for (std::size_t at = 0; at < body.size(); at += piece) {
        reader.feed(body.substr(at, piece));
    }
    const auto taken = thread_seconds() - before;
    if (!reader.result()) {
        fmt::print("no receipt was found\n");
    }
    return taken;
}

std::string stream_of(std::size_t events) {
    std::string body;
    for (std::size_t count = 0; count < events; ++count) {
        body += token_event();
    }
    return body + last_event();
}

double best(std::size_t rounds, const std::function<double()>& measure) {
    double least = measure();
    for (std::size_t round = 1; round < rounds; ++round) {
        least = std::min(least, measure());
    }
    return least;
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t mebibytes = argc > 1 ? std::stoul(argv[1]) : 256;
    const std::size_t rounds = argc > 2 ? std::stoul(argv[2]) : 5;
    const auto events = mebibytes * mebibyte / token_event().size();
    const auto report = [&](const char* what, double seconds) {
        fmt::print(
            "{:32} {:7.3f} s {:8.0f} MiB/s {:7.0f} ns/event\n", what, seconds,
            static_cast<double>(mebibytes) / seconds, seconds * 1e9 / static_cast<double>(events));
    };
    observing_hooks hooks;
    report("relay", best(rounds, [&] { return relay(events, hooks); }));
    hooks.make = [] { return std::make_unique<counting_observer>(); };
    report("relay, counting bytes", best(rounds, [&] { return relay(events, hooks); }));
    hooks.make = [] { return std::make_unique<reading_observer>(); };
    report("relay, reading the receipt", best(rounds, [&] { return relay(events, hooks); }));
    const auto stream = stream_of(events);
    report("the reader alone: events", best(rounds, [&] { return read_alone(stream); }));
    const auto document = R"({"content":")" + std::string(mebibytes * mebibyte, 'x') +
                          R"(","timings":{"cache_n":3,"prompt_n":4}})";
    report("the reader alone: a long text", best(rounds, [&] { return read_alone(document); }));
}

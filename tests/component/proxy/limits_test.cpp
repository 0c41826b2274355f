// Clients that send too much, too slowly, or too many at once; and requests that are refused.

#include <string>
#include <sys/resource.h>

#include "llama_hibernate/base/awaitable.hpp"

#include "captured_log.hpp"
#include "catch.hpp"
#include "proxy_harness.hpp"
#include "refused_requests.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;
using hibernate::proxy::refusal;

namespace {

bool says_close(const std::string& response) {
    return response.find("\r\nConnection: close\r\n") != std::string::npos;
}

awaitable<void> expect_answer(peer& client, std::string status) {
    const auto all = co_await client.receive_rest();
    CHECK(all.bytes.starts_with("HTTP/1.1 " + status + " "));
    CHECK(says_close(all.bytes.substr(0, all.bytes.find("\r\n\r\n") + 4)));
    CHECK(all.ending == ending::orderly);
}

/// Bounds this process's descriptors while it lives.
class descriptor_limit {
public:
    explicit descriptor_limit(rlim_t limit) {
        getrlimit(RLIMIT_NOFILE, &before_);
        auto bounded = before_;
        bounded.rlim_cur = limit;
        setrlimit(RLIMIT_NOFILE, &bounded);
    }
    ~descriptor_limit() { setrlimit(RLIMIT_NOFILE, &before_); }
    descriptor_limit(const descriptor_limit&) = delete;
    descriptor_limit& operator=(const descriptor_limit&) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("what must not reach the child is answered, and its connection closed") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        for (const auto& request : refused_requests()) {
            INFO(request.what);
            auto client = co_await world.connect();
            // What follows would be another request to a reader who disagrees with us.
            co_await client.send(request.bytes + get);
            const auto all = co_await client.receive_rest();
            const auto status = all.bytes.substr(0, std::string("HTTP/1.1 400 ").size());
            const auto is = [&](unsigned number) {
                return status == "HTTP/1.1 " + std::to_string(number) + " ";
            };
            CHECK((is(request.status) || is(request.or_status)));
            CHECK(says_close(all.bytes));
            CHECK(all.bytes.find("HTTP/1.1", 1) == std::string::npos);
            CHECK(all.ending == ending::orderly);
        }
        CHECK_FALSE(world.child_was_called());
        CHECK(world.hooks.forwarded.empty());
    });
}

TEST_CASE("a bad head is answered although its client sends on") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n");
        co_await client.try_send(std::string(5'000'000, 'x'));
        client.shutdown_send();
        co_await expect_answer(client, "400");
        CHECK_FALSE(world.child_was_called());
    });
}

TEST_CASE("a client that is slow to send the rest still reads why it was refused") {
    auto settings = loopback_settings();
    settings.linger_silence = 1s;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("GET / HTTP/1.1\r\n\r\n");
        asio::steady_timer pause(world.context);
        for (int count = 0; count < 120; ++count) {
            pause.expires_after(10ms);
            co_await pause.async_wait(use_awaitable);
            const bool taken = co_await client.try_send(std::string(1000, 'x'));
            CHECK(taken);
        }
        co_await expect_answer(client, "400");
        // But it is waited for only while it sends.
        bool taken = true;
        while (taken) {
            pause.expires_after(1500ms);
            co_await pause.async_wait(use_awaitable);
            taken = co_await client.try_send("x");
        }
    });
}

TEST_CASE("a head may have its limit of bytes, and not more") {
    auto settings = loopback_settings();
    settings.head_limit = 4096;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto large = co_await world.connect();
        co_await large.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(10'000, 'x'));
        co_await expect_answer(large, "431");

        auto long_target = co_await world.connect();
        co_await long_target.send("GET /" + std::string(10'000, 'x'));
        co_await expect_answer(long_target, "414");

        const std::string start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
        const auto fitting = start + std::string(4096 - start.size() - 4, 'x') + "\r\n\r\n";
        auto client = co_await world.connect();
        co_await client.send(fitting);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    });
}

TEST_CASE("a client that drips its head is closed in time, however it drips") {
    auto settings = loopback_settings();
    settings.head_deadline = 60ms;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        const auto begun = std::chrono::steady_clock::now();
        asio::steady_timer drip(world.context);
        bool taken = co_await client.try_send("GET / HTTP/1.1\r\n");
        while (taken) {
            drip.expires_after(5ms);
            co_await drip.async_wait(use_awaitable);
            taken = co_await client.try_send("X: y\r\n");
        }
        CHECK(std::chrono::steady_clock::now() - begun >= 60ms);
        CHECK(world.hooks.forwarded.empty());
    });
}

TEST_CASE("an idle connection is closed after its time, and not before") {
    auto settings = loopback_settings();
    settings.idle_timeout = 80ms;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        // The child may take longer than that.
        asio::steady_timer long_work(world.context, 200ms);
        co_await long_work.async_wait(use_awaitable);
        const auto answered = std::chrono::steady_clock::now();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
        const auto end = co_await client.closed();
        CHECK(end == ending::orderly);
        CHECK(std::chrono::steady_clock::now() - answered >= 80ms);
    });
}

TEST_CASE("a client that stops in the middle of its body is given up") {
    auto settings = loopback_settings();
    settings.idle_timeout = 50ms;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
        auto child = co_await world.accept();
        co_await child.receive_head();
        const auto rest = co_await child.receive_rest();
        CHECK(rest.bytes == "abc");
        CHECK(world.hooks.outcomes == std::vector{outcome::client_gone});
    });
}

TEST_CASE("a client that takes nothing of its response is given up") {
    auto settings = loopback_settings();
    settings.write_timeout = 50ms;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send("HTTP/1.1 200 OK\r\n\r\n");
        const std::string piece(100'000, 'x');
        bool taken = true;
        while (taken) {
            taken = co_await child.try_send(piece);
        }
        co_await world.until([&] { return world.hooks.outcomes.size() == 1; });
        CHECK(world.hooks.outcomes == std::vector{outcome::client_gone});
    });
}

TEST_CASE("beyond the most connections a client is told to come again") {
    auto settings = loopback_settings();
    settings.max_connections = 2;
    proxy_world world(settings);
    world.run([&]() -> awaitable<void> {
        auto first = co_await world.connect();
        {
            auto second = co_await world.connect();
            auto surplus = co_await world.connect();
            co_await surplus.send(get);
            const auto all = co_await surplus.receive_rest();
            CHECK(all.bytes.starts_with("HTTP/1.1 503 "));
            CHECK(all.bytes.find("Too many connections") != std::string::npos);
            CHECK(all.bytes.find("\r\nRetry-After: 1\r\n") != std::string::npos);
            CHECK(says_close(all.bytes));
        }
        // As soon as the server has noticed that two have left, the next one is served.
        auto next = co_await world.connect();
        co_await next.send(get);
        const auto decided = [&] {
            return world.hooks.forwarded.size() == 1 || next.socket().available() > 0;
        };
        co_await world.until(decided);
        while (world.hooks.forwarded.empty()) {
            next = co_await world.connect();
            co_await next.send(get);
            co_await world.until(decided);
        }
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await next.receive_message();
        CHECK(response == ok);
    });
}

TEST_CASE("a request that finds no descriptor for the child is told to come again") {
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        {
            auto child = co_await world.accept();
            co_await child.receive_head();
            co_await child.send(ok);
            co_await client.receive_message();
        }
        co_await world.until([&] { return world.server->exchanges_in_flight() == 0; });
        tcp::socket lowest(world.context, tcp::v4()); // of the free descriptors
        const auto open = static_cast<rlim_t>(lowest.native_handle());
        {
            const descriptor_limit limit(open + 1);
            co_await client.send(get);
            const auto response = co_await client.receive_message();
            CHECK(response.starts_with("HTTP/1.1 503 "));
            CHECK(response.find("\r\nRetry-After: 1\r\n") != std::string::npos);
        }
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
    });
}

TEST_CASE("running out of descriptors is survived, and told once") {
    const captured_log log;
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        // The lowest free descriptor tells how many are open.
        auto probe = co_await world.connect();
        const auto open = static_cast<rlim_t>(probe.socket().native_handle());
        tcp::socket waiting(world.context);
        waiting.open(tcp::v4());
        {
            const descriptor_limit limit(open + 1);
            const tcp::endpoint proxy(asio::ip::address_v4::loopback(), world.port());
            co_await waiting.async_connect(proxy, use_awaitable);
            // Where the sanitizer of virtual calls needs a pipe to look at one, it complains of the
            // logger here, and goes on.
            co_await world.until([&] { return log.lines_with("cannot accept") > 0; });
            // Long enough for two more attempts.
            asio::steady_timer back_off(world.context, 250ms);
            co_await back_off.async_wait(use_awaitable);
        }
        peer client(std::move(waiting));
        co_await client.send(get);
        auto child = co_await world.accept(); // within the back-off
        co_await child.receive_head();
        co_await child.send(ok);
        const auto response = co_await client.receive_message();
        CHECK(response == ok);
        CHECK(log.lines_with("cannot accept") == 1);
    });
}

TEST_CASE("a refused request never reaches the child, and may keep its connection") {
    proxy_world world;
    std::string seen;
    world.hooks.refusing = [&](const hibernate::proxy::request_view& request) {
        seen = std::string(request.method) + " " + request.path + " " + std::string(request.query) +
               " " + std::string(request.header("X-Key").value_or("-"));
        return request.path == "/slots/0"
                   ? std::optional(refusal{403, "not from outside", "permission_error"})
                   : std::nullopt;
    };
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send("POST /%73lots//0?action=save HTTP/1.1\r\nHost: h\r\nx-key: k\r\n"
                             "Content-Length: 30000\r\n\r\n");
        const auto response = co_await client.receive_message();
        CHECK(seen == "POST /slots/0 action=save k");
        CHECK(response.starts_with("HTTP/1.1 403 Forbidden\r\n"));
        CHECK(
            response.find(R"("message":"not from outside","type":"permission_error")") !=
            std::string::npos);
        co_await client.send(std::string(30000, 'x') + get);
        auto child = co_await world.accept();
        const auto head = co_await child.receive_head();
        CHECK(head.starts_with("GET /a "));
        CHECK(world.hooks.forwarded == std::vector<std::string>{"/a"});
    });
}

TEST_CASE("a refused request with a large or unclear body still gets its answer") {
    const std::string framing = GENERATE(
        as<std::string>{}, "Content-Length: 5000000", "Transfer-Encoding: chunked",
        "Expect: 100-continue\r\nContent-Length: 10");
    proxy_world world;
    world.run([&]() -> awaitable<void> {
        world.gate.hold("restoring");
        auto client = co_await world.connect();
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\n" + framing + "\r\n\r\n");
        // A client that only reads when it has sent everything.
        co_await client.try_send(std::string(5'000'000, 'x'));
        client.shutdown_send();
        co_await expect_answer(client, "503");
    });
}

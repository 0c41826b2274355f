// The same proxy under TLS.

#include <cstdio>
#include <memory>
#include <string>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "catch.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/proxy/tls.hpp"
#include "proxy_harness.hpp"
#include "temporary_directory.hpp"

using hibernate::awaitable;
using hibernate::use_awaitable;
using namespace hibernate::test;
using hibernate::proxy::outcome;

namespace {

/// A key and its self-signed certificate, as PEM files.
struct key_and_certificate {
    temporary_directory directory;
    std::string key = (directory.path() / "key.pem").string();
    std::string certificate = (directory.path() / "certificate.pem").string();

    key_and_certificate() {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(
            EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free);
        const std::unique_ptr<X509, decltype(&X509_free)> self_signed(X509_new(), X509_free);
        constexpr long day = 24 * 60 * 60;
        X509_gmtime_adj(X509_getm_notBefore(self_signed.get()), -day);
        X509_gmtime_adj(X509_getm_notAfter(self_signed.get()), day);
        X509_set_pubkey(self_signed.get(), pair.get());
        X509_sign(self_signed.get(), pair.get(), EVP_sha256());

        const std::unique_ptr<FILE, decltype(&fclose)> key_file(fopen(key.c_str(), "w"), fclose);
        PEM_write_PrivateKey(key_file.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
        const std::unique_ptr<FILE, decltype(&fclose)> certificate_file(
            fopen(certificate.c_str(), "w"), fclose);
        PEM_write_X509(certificate_file.get(), self_signed.get());
    }

    hibernate::proxy::server_settings settings() const {
        auto all = loopback_settings();
        all.tls_key_file = key;
        all.tls_certificate_file = certificate;
        return all;
    }
};

struct tls_client {
    explicit tls_client(proxy_world& world) : stream(world.context, context) {}

    awaitable<void> connect(std::uint16_t port) {
        const tcp::endpoint proxy(asio::ip::address_v4::loopback(), port);
        co_await stream.next_layer().async_connect(proxy, use_awaitable);
        co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    }
    awaitable<void> send(std::string_view bytes) {
        const auto buffer = asio::buffer(bytes.data(), bytes.size());
        co_await asio::async_write(stream, buffer, use_awaitable);
    }
    awaitable<std::string> receive(std::size_t size) {
        std::string bytes(size, '\0');
        const auto buffer = asio::buffer(bytes);
        co_await asio::async_read(stream, buffer, use_awaitable);
        co_return bytes;
    }
    /// How the connection ends, with nothing more on it.
    awaitable<error_code> end() {
        char byte = 0;
        error_code error;
        const auto buffer = asio::buffer(&byte, 1);
        co_await stream.async_read_some(buffer, asio::redirect_error(use_awaitable, error));
        co_return error;
    }

    asio::ssl::context context{asio::ssl::context::tls_client};
    asio::ssl::stream<tcp::socket> stream;
};

} // namespace

TEST_CASE("requests and streams pass under TLS") {
    const key_and_certificate files;
    proxy_world world(files.settings());
    CHECK(world.server->urls().at(0).starts_with("https://127.0.0.1:"));
    world.run([&]() -> awaitable<void> {
        tls_client client(world);
        co_await client.connect(world.port());
        for (int count = 0; count < 3; ++count) {
            co_await client.send(get);
            auto child = co_await world.accept();
            const auto head = co_await child.receive_head();
            CHECK(head.find("\r\nX-Forwarded-Proto: https\r\n") != std::string::npos);
            const std::string start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            co_await child.send(start);
            const auto received = co_await client.receive(start.size());
            CHECK(received == start);
            for (int event = 0; event < 20; ++event) {
                co_await child.send("3\r\ntok\r\n");
                co_await client.receive(8);
            }
            co_await child.send("0\r\n\r\n");
            co_await client.receive(5);
        }
    });
}

TEST_CASE("large bodies pass under TLS in both directions") {
    const key_and_certificate files;
    proxy_world world(files.settings());
    world.run([&]() -> awaitable<void> {
        const std::string body(300'000, 'b');
        tls_client client(world);
        co_await client.connect(world.port());
        co_await client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n");
        auto child = co_await world.accept();
        co_await child.receive_head();
        for (std::size_t at = 0; at < body.size(); at += 30'000) {
            co_await client.send(std::string_view(body).substr(at, 30'000));
            co_await child.receive(30'000);
        }
        co_await child.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n");
        co_await client.receive(43);
        for (std::size_t at = 0; at < body.size(); at += 30'000) {
            co_await child.send(std::string_view(body).substr(at, 30'000));
            co_await client.receive(30'000);
        }
    });
}

TEST_CASE("under TLS, too, a client that goes away takes its request along") {
    const bool orderly = GENERATE(false, true);
    const key_and_certificate files;
    proxy_world world(files.settings());
    world.run([&]() -> awaitable<void> {
        tls_client client(world);
        co_await client.connect(world.port());
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        if (orderly) {
            client.stream.async_shutdown([](const error_code&) {});
        } else {
            client.stream.next_layer().close();
        }
        co_await child.closed();
        CHECK(world.hooks.outcomes == std::vector{outcome::client_gone});
    });
}

TEST_CASE("under TLS, an orderly end is announced, and a broken one is not") {
    const bool broken = GENERATE(false, true);
    const key_and_certificate files;
    proxy_world world(files.settings());
    world.run([&]() -> awaitable<void> {
        tls_client client(world);
        co_await client.connect(world.port());
        co_await client.send(get);
        auto child = co_await world.accept();
        co_await child.receive_head();
        const std::string length = broken ? "Content-Length: 9\r\n" : "";
        const std::string connection = broken ? "" : "Connection: close\r\n";
        co_await child.send("HTTP/1.1 200 OK\r\n" + length + "\r\nabc");
        child.close();
        const auto expected = "HTTP/1.1 200 OK\r\n" + length + connection + "\r\nabc";
        const auto received = co_await client.receive(expected.size());
        CHECK(received == expected);
        const auto end = co_await client.end();
        CHECK((end == asio::error::eof) == !broken);
    });
}

TEST_CASE("a client that speaks no TLS is closed") {
    const key_and_certificate files;
    proxy_world world(files.settings());
    world.run([&]() -> awaitable<void> {
        auto client = co_await world.connect();
        co_await client.send(get);
        co_await client.receive_rest();
        CHECK(world.hooks.forwarded.empty());
    });
}

TEST_CASE("HTTP/1.1 is the protocol that we agree to") {
    const key_and_certificate files;
    proxy_world world(files.settings());
    world.run([&]() -> awaitable<void> {
        const std::pair<std::string, std::string> cases[] = {
            {std::string("\x02h2\x08http/1.1", 12), "http/1.1"},
            {std::string("\x02h2", 3), ""},
        };
        for (const auto& [offer, agreed] : cases) {
            tls_client client(world);
            SSL_set_alpn_protos(
                client.stream.native_handle(), reinterpret_cast<const unsigned char*>(offer.data()),
                static_cast<unsigned>(offer.size()));
            co_await client.connect(world.port());
            const unsigned char* name = nullptr;
            unsigned size = 0;
            SSL_get0_alpn_selected(client.stream.native_handle(), &name, &size);
            CHECK(std::string(reinterpret_cast<const char*>(name), size) == agreed);
        }
    });
}

TEST_CASE("TLS 1.2 is the oldest version that we speak") {
    const key_and_certificate files;
    auto context = hibernate::proxy::make_tls_context(files.key, files.certificate);
    CHECK(SSL_CTX_get_min_proto_version(context.native_handle()) == TLS1_2_VERSION);
}

TEST_CASE("a key or certificate that cannot be used is told by its name") {
    const key_and_certificate files;
    const auto load = [](const std::string& key, const std::string& certificate) {
        hibernate::proxy::make_tls_context(key, certificate);
    };
    CHECK_NOTHROW(load(files.key, files.certificate));
    CHECK_THROWS_AS(load("/no/key.pem", files.certificate), hibernate::startup_error);
    CHECK_THROWS_AS(load(files.key, files.key), hibernate::startup_error);
    const key_and_certificate others;
    CHECK_THROWS_AS(load(others.key, files.certificate), hibernate::startup_error);
}

#include "llama_hibernate/commands/status_fetch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "llama_hibernate/base/awaitable.hpp"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

namespace hibernate::commands {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using asio::ip::tcp;
using stream_socket = asio::generic::stream_protocol::socket;

namespace {

constexpr auto most_bytes = std::uint64_t{64} * 1024 * 1024;

using request = http::request<http::empty_body>;

struct connected {
    stream_socket socket;
    bool loopback = false;
};

awaitable<connected> connect(const server_url& to) {
    const auto executor = co_await asio::this_coro::executor;
    connected made{stream_socket(executor), false};
    if (to.how == server_url::kind::unix_socket) {
        const asio::local::stream_protocol::endpoint path(to.host);
        const asio::generic::stream_protocol::endpoint endpoint(path);
        co_await made.socket.async_connect(endpoint, use_awaitable);
        co_return made;
    }
    tcp::resolver resolver(executor);
    const auto found = co_await resolver.async_resolve(to.host, to.port, use_awaitable);
    boost::system::error_code failed = asio::error::host_not_found;
    for (const auto& entry : found) {
        const asio::generic::stream_protocol::endpoint endpoint(entry.endpoint());
        made.socket = stream_socket(executor);
        failed = {};
        try {
            co_await made.socket.async_connect(endpoint, use_awaitable);
        } catch (const boost::system::system_error& error) {
            failed = error.code();
        }
        if (!failed) {
            made.loopback = entry.endpoint().address().is_loopback();
            co_return made;
        }
    }
    throw boost::system::system_error(failed);
}

template <typename Stream>
awaitable<fetched> exchange(Stream& stream, const request& question) {
    co_await http::async_write(stream, question, use_awaitable);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(most_bytes);
    co_await http::async_read(stream, buffer, parser, use_awaitable);
    fetched answer;
    answer.status = parser.get().result_int();
    answer.body = std::move(parser.get().body());
    co_return answer;
}

awaitable<fetched> ask(const server_url& from, const request& question) {
    auto made = co_await connect(from);
    fetched answer;
    if (from.how != server_url::kind::https) {
        answer = co_await exchange(made.socket, question);
        co_return answer;
    }
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_default_verify_paths();
    asio::ssl::stream<stream_socket&> stream(made.socket, context);
    if (!made.loopback) {
        stream.set_verify_mode(asio::ssl::verify_peer);
        stream.set_verify_callback(asio::ssl::host_name_verification(from.host));
    }
    SSL_set_tlsext_host_name(stream.native_handle(), from.host.c_str());
    co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    answer = co_await exchange(stream, question);
    co_return answer;
}

std::string host_field(const server_url& of) {
    if (of.how == server_url::kind::unix_socket) {
        return "localhost";
    }
    const bool is_ipv6 = of.host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + of.host + "]" : of.host) + ":" + of.port;
}

} // namespace

std::optional<server_url> read_url(std::string_view text) {
    server_url url;
    constexpr std::string_view unix_scheme = "unix:";
    constexpr std::string_view socket_end = ".sock";
    if (text.starts_with(unix_scheme)) {
        text.remove_prefix(unix_scheme.size());
        const auto end = text.find(socket_end);
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        url.how = server_url::kind::unix_socket;
        url.host = text.substr(0, end + socket_end.size());
        url.prefix = text.substr(url.host.size());
    } else {
        std::string_view scheme = "http";
        if (const auto end = text.find("://"); end != std::string_view::npos) {
            scheme = text.substr(0, end);
            text.remove_prefix(end + 3);
        }
        if (scheme != "http" && scheme != "https") {
            return std::nullopt;
        }
        url.how = scheme == "https" ? server_url::kind::https : server_url::kind::http;
        url.port = url.how == server_url::kind::https ? "443" : "80";
        auto authority = text.substr(0, text.find('/'));
        url.prefix = text.substr(authority.size());
        const auto bracket = authority.find(']');
        const auto colon = authority.rfind(':');
        if (colon != std::string_view::npos &&
            (bracket == std::string_view::npos || colon > bracket)) {
            url.port = authority.substr(colon + 1);
            authority = authority.substr(0, colon);
        }
        if (authority.starts_with('[') && authority.ends_with(']')) {
            authority = authority.substr(1, authority.size() - 2);
        }
        url.host = authority;
        if (url.port.empty() || url.port.find_first_not_of("0123456789") != std::string::npos) {
            return std::nullopt;
        }
    }
    while (url.prefix.ends_with('/')) {
        url.prefix.pop_back();
    }
    const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char byte) {
        return byte > ' ' && byte != 0x7F && byte != '?' && byte != '#' && byte != '@';
    });
    return url.host.empty() || (!plain && url.how != server_url::kind::unix_socket)
               ? std::nullopt
               : std::optional(url);
}

fetched fetch_status(
    const server_url& from, const std::string& api_key, std::chrono::milliseconds patience) {
    constexpr unsigned http_1_1 = 11;
    request question(http::verb::get, from.prefix + "/hibernate/status", http_1_1);
    question.set(http::field::host, host_field(from));
    question.set(http::field::connection, "close");
    if (!api_key.empty()) {
        question.set(http::field::authorization, "Bearer " + api_key);
    }
    fetched answer;
    answer.problem = "no answer in time";
    asio::io_context context;
    const auto note = [&answer](const std::exception_ptr& failure, fetched result) {
        if (!failure) {
            answer = std::move(result);
            return;
        }
        try {
            std::rethrow_exception(failure);
        } catch (const boost::system::system_error& error) {
            answer.problem = error.code().message();
        }
    };
    asio::co_spawn(context, ask(from, question), note);
    context.run_for(patience);
    return answer;
}

} // namespace hibernate::commands

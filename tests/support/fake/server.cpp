#include "server.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include <signal.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

namespace fake {

server::server(asio::io_context& context, settings settings)
    : context_(context), settings_(std::move(settings)), slots_(settings_), signals_(context) {
    if (!settings_.log.empty())
        log_.open(settings_.log, std::ios::app);
    log_event("start", ::getpid());
}

void server::start() {
    for (const std::string& host : settings_.hosts)
        listen(host);
    for (const auto& listener : listeners_)
        asio::co_spawn(context_, accept(*listener), asio::detached);
    asio::co_spawn(context_, load(), asio::detached);
}

void server::listen(const std::string& host) {
    asio::generic::stream_protocol::endpoint endpoint;
    const bool local = host.ends_with(".sock");
    if (local)
        endpoint = asio::local::stream_protocol::endpoint(host);
    else
        endpoint = asio::ip::tcp::endpoint(
            asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host),
            static_cast<std::uint16_t>(settings_.port));
    auto listener = std::make_unique<acceptor>(context_.get_executor());
    listener->open(endpoint.protocol());
    if (!local)
        listener->set_option(asio::socket_base::reuse_address(true));
    listener->bind(endpoint);
    listener->listen();
    std::string where = host;
    if (!local) {
        asio::ip::tcp::endpoint bound;
        const auto generic = listener->local_endpoint();
        bound.resize(generic.size());
        std::copy_n(
            reinterpret_cast<const char*>(generic.data()), generic.size(),
            reinterpret_cast<char*>(bound.data()));
        where = "http://" + host + ":" + std::to_string(bound.port());
    }
    say("listening on " + where);
    listeners_.push_back(std::move(listener));
}

asio::awaitable<void> server::accept(acceptor& listener) {
    while (listener.is_open()) {
        boost::system::error_code ec;
        stream_socket socket(context_.get_executor());
        co_await listener.async_accept(socket, asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            continue;
        auto client = std::make_shared<connection>(std::move(socket));
        std::erase_if(connections_, [](const auto& known) { return known.expired(); });
        connections_.push_back(client);
        asio::co_spawn(context_, serve(std::move(client)), asio::detached);
    }
}

asio::awaitable<void> server::serve(std::shared_ptr<connection> client) {
    for (;;) {
        const bool read = co_await client->read_request(settings_.keep_alive);
        if (!read)
            break;
        log_request("request", *client);
        ++open_requests_;
        co_await answer(*client);
        --open_requests_;
        log_request("answer", *client);
        if (stopping_ || !client->keep_alive())
            break;
    }
    client->close();
}

asio::awaitable<void> server::load() {
    crash_if("load");
    asio::steady_timer timer(context_, settings_.load);
    co_await timer.async_wait(asio::use_awaitable);
    // Until here a signal does what it does by default: it ends the process.
    if (settings_.ignore_sigint)
        ::signal(SIGINT, SIG_IGN);
    else
        signals_.add(SIGINT);
    signals_.add(SIGTERM);
    asio::co_spawn(context_, watch_signals(), asio::detached);
    loaded_ = true;
    note_activity();
    say("model loaded");
}

asio::awaitable<void> server::watch_signals() {
    for (;;) {
        boost::system::error_code ec;
        const int number =
            co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            co_return;
        log_event("signal", number);
        if (stopping_) {
            say("Received second interrupt, terminating immediately.");
            std::_Exit(1);
        }
        stopping_ = true;
        for (const auto& listener : listeners_) {
            boost::system::error_code ignored;
            listener->close(ignored);
        }
        asio::co_spawn(context_, finish(), asio::detached);
    }
}

asio::awaitable<void> server::finish() {
    for (const auto& known : connections_) {
        if (const auto client = known.lock(); client && client->reading())
            client->close();
    }
    // A request that is open, and a resumable stream without any client, keep it for ever.
    asio::steady_timer timer(context_);
    while (open_requests_ > 0 || !streams_.empty()) {
        timer.expires_after(milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
    }
    log_event("exit", 0);
    context_.stop();
}

void server::log_request(const std::string& event, const connection& client) {
    if (!log_.is_open())
        return;
    const http_request& request = client.request();
    nlohmann::json line;
    line["event"] = event;
    line["pid"] = ::getpid();
    line["method"] = std::string(request.method_string());
    line["target"] = std::string(request.target());
    line["body"] = request.body().substr(0, 4096);
    line["headers"] = nlohmann::json::array();
    for (const auto& field : request)
        line["headers"].push_back({std::string(field.name_string()), std::string(field.value())});
    log_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

void server::log_event(const std::string& name, int number) {
    if (!log_.is_open())
        return;
    nlohmann::json line;
    line["event"] = name;
    line["pid"] = ::getpid();
    line["number"] = number;
    log_ << line.dump() << std::endl;
}

void server::say(const std::string& line) {
    if (!settings_.quiet)
        std::cerr << line << std::endl;
}

void server::crash_if(const std::string& point) {
    if (settings_.crash_on != point)
        return;
    log_event("crash", settings_.exit_code);
    if (settings_.exit_code >= 0)
        std::_Exit(settings_.exit_code);
    ::signal(settings_.crash_signal, SIG_DFL);
    ::raise(settings_.crash_signal);
    std::_Exit(1);
}

} // namespace fake

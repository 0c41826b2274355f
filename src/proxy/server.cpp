#include "llama_hibernate/proxy/server.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/proxy/connection.hpp"
#include "llama_hibernate/proxy/listener.hpp"
#include "llama_hibernate/proxy/session.hpp"
#include "llama_hibernate/proxy/tls.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

/// Beyond max_connections this many more are told so; the rest are closed without a word.
constexpr std::size_t max_surplus = 64;

awaitable<void> serve(std::shared_ptr<shared_state> shared, client_socket socket, bool surplus) {
    connection one(std::move(shared), std::move(socket), surplus);
    co_await one.run();
}

void report(const std::exception_ptr& failure) {
    if (!failure) {
        return;
    }
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        log::error("a connection ended: {}", error.what());
    }
}

void accept_client(const std::shared_ptr<shared_state>& shared, client_socket socket) {
    const auto count = shared->connections.size();
    const auto limit = shared->settings.max_connections;
    if (count < limit + max_surplus) {
        asio::co_spawn(shared->context, serve(shared, std::move(socket), count >= limit), report);
    }
}

/// Deadlines are plain time points, which cost nothing to move; this looks at all of them now and
/// then. A deadline is kept to within an eighth of the shortest one.
awaitable<void>
watch_deadlines(std::shared_ptr<shared_state> shared, std::shared_ptr<steady_timer> tick) {
    const auto& settings = shared->settings;
    const auto shortest = std::min(
        {settings.head_deadline, settings.idle_timeout, settings.write_timeout,
         settings.linger_silence});
    const auto interval = std::clamp<std::chrono::milliseconds>(shortest / 8, 5ms, 1000ms);
    while (shared->hooks != nullptr) {
        error_code ignored;
        tick->expires_after(interval);
        co_await tick->async_wait(error_into(ignored));
        const auto now = std::chrono::steady_clock::now();
        for (auto* const one : shared->connections) {
            one->close_if_late(now);
        }
        shared->links.close_old(now);
    }
}

} // namespace

struct server::state {
    state(asio::io_context& context, server_settings settings, gate& before, hooks& owner)
        : shared(std::make_shared<shared_state>(context, std::move(settings), before, owner)),
          clients(
              context,
              [all = shared](client_socket socket) { accept_client(all, std::move(socket)); }),
          tick(std::make_shared<steady_timer>(context.get_executor())) {}

    std::shared_ptr<shared_state> shared;
    listener clients;
    std::shared_ptr<steady_timer> tick;
};

server::server(asio::io_context& context, server_settings settings, gate& gate, hooks& hooks)
    : state_(std::make_shared<state>(context, std::move(settings), gate, hooks)) {
    auto& shared = *state_->shared;
    const auto& key = shared.settings.tls_key_file;
    const auto& certificate = shared.settings.tls_certificate_file;
    if (!key.empty() && !certificate.empty()) {
        shared.tls.emplace(make_tls_context(key, certificate));
    }
    gate.on_close([all = state_->shared] {
        for (auto* const one : all->connections) {
            one->close_if_idle();
        }
        all->links.close_idle();
    });
    asio::co_spawn(context, watch_deadlines(state_->shared, state_->tick), report);
}

server::~server() {
    close_listeners();
    cut_connections();
    state_->shared->gate.on_close(nullptr);
    state_->shared->hooks = nullptr;
    state_->tick->cancel();
}

error_code server::listen() {
    const auto& settings = state_->shared->settings;
    return state_->clients.listen(settings.hosts, settings.port, settings.reuse_port);
}

std::vector<std::string> server::urls() const {
    const std::string scheme = state_->shared->tls ? "https://" : "http://";
    std::vector<std::string> all;
    for (const auto& address : state_->clients.addresses()) {
        all.push_back(address.ends_with(".sock") ? "unix:" + address : scheme + address);
    }
    return all;
}

void server::set_upstream(const asio::generic::stream_protocol::endpoint& child) {
    state_->shared->links.forget_child();
    state_->shared->upstream = child;
}

void server::forget_upstream() {
    state_->shared->upstream.reset();
    state_->shared->links.forget_child();
}

std::size_t server::exchanges_in_flight() const noexcept {
    return state_->shared->exchanges;
}

awaitable<void> server::drained() {
    const auto shared = state_->shared;
    while (shared->exchanges > 0) {
        error_code ignored;
        co_await shared->became_idle.async_wait(error_into(ignored));
        const auto cancellation = co_await asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != asio::cancellation_type::none) {
            throw boost::system::system_error(asio::error::operation_aborted);
        }
    }
}

void server::close_listeners() {
    state_->clients.close();
}

void server::cut_connections() {
    state_->shared->links.close_idle();
    for (auto* const one : state_->shared->connections) {
        one->cut();
    }
}

} // namespace hibernate::proxy

#include "llama_hibernate/proxy/session.hpp"

#include <utility>

#include <boost/asio/error.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/connection.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// A client that leaves in its exchange's first moments is noticed after at most two of these.
constexpr std::chrono::milliseconds watch_interval{10};

} // namespace

shared_state::shared_state(
    asio::io_context& io, server_settings how, proxy::gate& before, proxy::hooks& owner)
    : context(io), settings(std::move(how)), gate(before), hooks(&owner),
      links(io, settings.kept_upstream), became_idle(io.get_executor(), steady_time::max()),
      watch_tick_(io.get_executor()) {}

void shared_state::watch_clients_soon() {
    if (ticking_) {
        return;
    }
    ticking_ = true;
    watch_tick_.expires_after(watch_interval);
    watch_tick_.async_wait([self = weak_from_this()](const error_code&) {
        if (const auto all = self.lock()) {
            all->watch_clients();
        }
    });
}

void shared_state::watch_clients() {
    ticking_ = false;
    bool more = false;
    for (auto* const one : connections) {
        more = one->watch_client() || more;
    }
    if (more) {
        watch_clients_soon();
    }
}

shared_state::exchange_count::exchange_count(shared_state& of) : of_(of) {
    ++of_.exchanges;
}

shared_state::exchange_count::~exchange_count() {
    if (--of_.exchanges == 0) {
        of_.became_idle.cancel();
    }
}

client_side::client_side(client_socket socket, asio::ssl::context* tls, std::size_t buffer_size)
    : stream(std::move(socket), tls), buffer(buffer_size) {
    buffer.reserve(buffer_size);
}

std::string_view client_side::unread() const noexcept {
    const auto bytes = buffer.cdata();
    return {static_cast<const char*>(bytes.data()), bytes.size()};
}

awaitable<void> client_side::read_more(error_code& error) {
    const auto room = buffer.prepare(buffer.max_size() - buffer.size());
    const auto size = co_await stream.read_some(room, error);
    buffer.commit(size);
}

bool client_side::has_left(const error_code& read_end, half_close meaning) noexcept {
    if (read_end == asio::error::eof && meaning == half_close::keep) {
        half_closed = true;
        return false;
    }
    return static_cast<bool>(read_end);
}

awaitable<void> client_side::gone(half_close meaning) {
    while (!half_closed && buffer.size() < buffer.max_size()) {
        error_code error;
        co_await read_more(error);
        if (has_left(error, meaning)) {
            co_return;
        }
    }
    co_await stream.broken();
}

} // namespace hibernate::proxy

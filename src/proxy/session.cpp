#include "llama_hibernate/proxy/session.hpp"

#include <utility>

#include <boost/asio/error.hpp>

namespace hibernate::proxy {

namespace asio = boost::asio;
using boost::system::error_code;

shared_state::shared_state(
    asio::io_context& io, server_settings how, proxy::gate& before, proxy::hooks& owner)
    : context(io), settings(std::move(how)), gate(before), hooks(&owner),
      became_idle(io.get_executor(), steady_time::max()) {}

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

asio::awaitable<void> client_side::read_more(error_code& error) {
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

asio::awaitable<void> client_side::gone(half_close meaning) {
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

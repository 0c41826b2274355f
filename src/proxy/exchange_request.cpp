// An exchange's request: a connection to the child, what is sent on it, and hearing the client.

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/exchange.hpp"
#include "write_at_once.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using boost::system::error_code;

/// No body, no effect: the methods that RFC 9110 calls safe, as far as llama-server has them.
bool exchange::may_be_sent_twice() const {
    return (request_.method == "GET" || request_.method == "HEAD") && request_.upgrade.empty() &&
           request_.body.how != framing::kind::chunked && request_.body.length == 0;
}

awaitable<exchange::step> exchange::open_upstream() {
    upstream_ = std::move(kept_);
    if (upstream_ && may_be_sent_twice() &&
        shared_.links.take(*upstream_, std::chrono::steady_clock::now())) {
        upstream_->stale = true;
        error_code error;
        co_await send_head(error);
        if (!error) {
            co_return step::ok;
        }
    }
    const auto opened = co_await open_new_upstream();
    co_return opened;
}

awaitable<exchange::step> exchange::open_new_upstream() {
    upstream_.reset();
    // The owner may have taken the child away while the hook took its time.
    if (cut_ || heard_ || !shared_.upstream) {
        co_return step::upstream_failed;
    }
    upstream_ = shared_.links.make();
    const auto child = *shared_.upstream;
    error_code error;
    co_await upstream_->socket.async_connect(child, error_into(error));
    if (error) {
        co_return error == asio::error::no_descriptors ? step::out_of_descriptors
                                                       : step::upstream_failed;
    }
    upstream_->socket.set_option(asio::ip::tcp::no_delay(true), error);
    upstream_->socket.non_blocking(true, error);
    co_await send_head(error);
    co_return error ? step::upstream_failed : step::ok;
}

/// With as much of the body as is here and as the child takes without waiting: it may answer before
/// it takes the rest.
awaitable<void> exchange::send_head(error_code& error) {
    const forwarded_for from{client_.stream.peer_address(), client_.stream.encrypted()};
    const bool keeps = request_.keep_alive && shared_.settings.kept_upstream > 0;
    const auto then =
        keeps && may_be_sent_twice() ? upstream_connection::keep : upstream_connection::close;
    const auto head = head_for_upstream(request_, from, go_ahead_, then);
    auto ahead = request_body_;
    auto part = ahead.scan(client_.unread());
    if (ahead.malformed()) {
        part = 0; // hear_client() finds it again
    } else {
        request_body_ = ahead;
    }
    unsent_ = part; // and so nobody reads into the buffer meanwhile
    std::array<asio::const_buffer, 2> pieces{
        asio::buffer(head), asio::buffer(client_.buffer.cdata(), part)};
    const auto sent = write_at_once(upstream_->socket, pieces, error);
    if (!error && pieces[0].size() > 0) {
        co_await asio::async_write(upstream_->socket, pieces[0], error_into(error));
    }
    const auto of_body = sent - std::min(sent, head.size());
    client_.buffer.consume(of_body);
    unsent_ = part - of_body;
}

/// The child may have closed a connection that waited just when it was used again.
bool exchange::may_send_again() const {
    return upstream_->stale && !client_written_ && !cut_ && !heard_;
}

bool exchange::watch_client() {
    if (!forwarding_ || hearing_ == hearing::on || hearing_ == hearing::over) {
        return false;
    }
    const bool second_time = hearing_ == hearing::soon;
    hearing_ = hearing::soon;
    // A body is sent to a child that is there; that begins in forward().
    if (second_time && request_complete()) {
        start_hearing();
    }
    return hearing_ == hearing::soon;
}

void exchange::start_hearing() {
    if (hearing_ == hearing::on || hearing_ == hearing::over) {
        return;
    }
    hearing_ = hearing::on;
    hearing_over_.emplace(shared_.context.get_executor(), steady_time::max());
    asio::co_spawn(
        shared_.context, hear_client(),
        asio::bind_cancellation_slot(
            stop_hearing_.slot(),
            [this](const std::exception_ptr& failure, step what) { heard(failure, what); }));
}

void exchange::heard(const std::exception_ptr& failure, step what) {
    hearing_ = hearing::over;
    hearing_over_->cancel();
    if (forwarding_) {
        heard_ = failure ? step::client_gone : what;
        close_upstream();
        client_.stream.cancel();
    }
}

/// Whatever comes of it afterwards is nobody's business.
awaitable<void> exchange::stop_hearing() {
    stop_hearing_.emit(asio::cancellation_type::terminal);
    while (hearing_ == hearing::on) {
        error_code ignored;
        co_await hearing_over_->async_wait(error_into(ignored));
    }
}

void exchange::close_upstream() {
    if (upstream_) {
        error_code ignored;
        upstream_->socket.close(ignored);
    }
}

void exchange::keep_upstream() {
    const bool wanted = upstream_keeps_ && response_keeps_ && request_complete() && !heard_ &&
                        shared_.gate.current() != gate::state::closed;
    if (wanted && shared_.links.keep(*upstream_, std::chrono::steady_clock::now())) {
        kept_ = std::move(upstream_);
    }
}

/// Completes only when the client has gone, or sent what is no body.
awaitable<exchange::step> exchange::hear_client() {
    if (!request_complete()) {
        // While the child takes nothing we read nothing, but a reset is seen all the same.
        auto sending = send_request_body();
        auto breaking = client_.stream.broken();
        const auto first = co_await (std::move(sending) || std::move(breaking));
        if (first.index() == 1) {
            co_return step::client_gone;
        }
        const auto sent = std::get<0>(first);
        if (sent != step::ok) {
            co_return sent;
        }
    }
    co_await client_.gone(shared_.settings.on_half_close);
    co_return step::client_gone;
}

/// ok: all of it is sent, or the child takes no more of it.
awaitable<exchange::step> exchange::send_request_body() {
    error_code error;
    while (!request_complete()) {
        if (unsent_ == 0) {
            unsent_ = request_body_.scan(client_.unread());
        }
        if (request_body_.malformed()) {
            co_return step::request_malformed;
        }
        const auto piece = asio::buffer(client_.buffer.cdata(), unsent_);
        co_await asio::async_write(upstream_->socket, piece, error_into(error));
        client_.buffer.consume(unsent_);
        unsent_ = 0;
        if (error) {
            // A child that reads no further may have answered already; its response decides. If it
            // does read after all, it must not wait for the rest.
            error_code ignored;
            upstream_->socket.shutdown(asio::socket_base::shutdown_send, ignored);
            break;
        }
        if (request_body_.done()) {
            break;
        }
        client_.deadline = std::chrono::steady_clock::now() + shared_.settings.idle_timeout;
        co_await client_.read_more(error);
        client_.deadline = steady_time::max();
        if (error) {
            co_return step::client_gone;
        }
    }
    co_return step::ok;
}

} // namespace hibernate::proxy

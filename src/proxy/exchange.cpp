#include "llama_hibernate/proxy/exchange.hpp"

#include <array>
#include <exception>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "tunnel.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using boost::system::error_code;

namespace {

constexpr unsigned malformed = 400;
constexpr unsigned internal_error = 500;
constexpr unsigned bad_gateway = 502;
constexpr unsigned unavailable = 503;
constexpr auto malformed_body = "Invalid chunked request body";

std::span<char> bytes_of(boost::beast::flat_buffer& buffer) {
    const auto bytes = buffer.data();
    return {static_cast<char*>(bytes.data()), bytes.size()};
}

const char* error_type(unsigned status) {
    switch (status) {
    case malformed:
        return "invalid_request_error";
    case unavailable:
        return "unavailable_error";
    default:
        return "server_error";
    }
}

/// The end of such a response is clear, and the child says that another one may follow.
bool keeps_upstream(const response_head& response) {
    return response.keeps_connection && (response.body.how == framing::kind::length ||
                                         response.body.how == framing::kind::chunked);
}

std::string_view view_of(std::span<const char> bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace

exchange::exchange(
    shared_state& shared,
    client_side& client,
    const request_head& request,
    request_view& view,
    std::unique_ptr<upstream_link>& kept)
    : shared_(shared), client_(client), request_(request), view_(view), kept_(kept),
      request_body_(request.body), observed_body_(framing{}) {}

exchange::~exchange() {
    ended(outcome::cut, next::close);
}

void exchange::cut() {
    cut_ = true;
    close_upstream();
    ended(outcome::cut, next::close);
}

exchange::next exchange::ended(outcome how, next then) {
    if (owes_after_response_) {
        owes_after_response_ = false;
        if (shared_.hooks != nullptr) {
            shared_.hooks->after_response(view_, how);
        }
        observer_.reset();
    }
    return then;
}

exchange::next exchange::fail(unsigned status, const char* message, outcome how) {
    if (client_written_) {
        return ended(how, next::close);
    }
    local_answer_ = {status, message, error_type(status)};
    return ended(how, next::answer);
}

awaitable<exchange::next> exchange::run() {
    if (owner_wants_body()) {
        const auto looked = co_await look_at_body();
        if (cut_ || looked == step::client_gone) {
            co_return next::close;
        }
        if (looked == step::request_malformed) {
            co_return fail(malformed, malformed_body, outcome::client_gone);
        }
        if (const auto wish = shared_.hooks->refuse_body(view_)) {
            local_answer_ = {wish->status, wish->message, wish->type};
            co_return next::answer;
        }
    }
    const auto asked = co_await ask_owner();
    if (cut_ || asked == step::client_gone) {
        co_return ended(outcome::client_gone, next::close);
    }
    if (asked == step::hook_failed) {
        co_return fail(internal_error, "Internal error", outcome::upstream_failed);
    }

    std::exception_ptr failure;
    forwarding_ = true;
    shared_.watch_clients_soon();
    try {
        co_await forward();
    } catch (...) {
        failure = std::current_exception();
    }
    forwarding_ = false;
    co_await stop_hearing();
    if (failure) {
        std::rethrow_exception(failure);
    }

    const bool relayed = opened_ == step::ok && end_ == response_end::complete;
    if (cut_ || (heard_ == step::client_gone && !relayed)) {
        // Nobody listens any more: the child learns it from this, and stops to generate.
        close_upstream();
        co_return ended(outcome::client_gone, next::close);
    }
    if (heard_ == step::request_malformed && !relayed) {
        close_upstream();
        co_return fail(malformed, malformed_body, outcome::client_gone);
    }
    if (opened_ == step::out_of_descriptors) {
        co_return fail(unavailable, "Too many connections", outcome::upstream_failed);
    }
    if (opened_ != step::ok) {
        co_return fail(bad_gateway, "llama-server cannot be reached", outcome::upstream_failed);
    }
    if (end_ == response_end::switched) {
        co_await tunnel(client_, upstream_->socket, upstream_->received);
    }
    co_return conclude(end_);
}

exchange::next exchange::conclude(response_end end) {
    switch (end) {
    case response_end::complete:
        keep_upstream();
        return ended(
            outcome::complete, response_keeps_ && request_complete() ? next::keep : next::finish);
    case response_end::switched:
        return ended(outcome::complete, next::close);
    case response_end::client_gone:
        return ended(outcome::client_gone, next::close);
    case response_end::no_response:
        return fail(
            bad_gateway, "llama-server broke off without a valid response",
            outcome::upstream_failed);
    case response_end::broken:
        return ended(outcome::upstream_failed, next::close);
    case response_end::broken_unframed:
        return ended(outcome::upstream_failed, next::reset);
    }
    return next::close;
}

bool exchange::owner_wants_body() const {
    return !request_body_.done() && shared_.hooks->wants_body(view_);
}

/// Leaves the body in the client's buffer, to be sent as it came. The view shows a copy of it:
/// reading on may move what the buffer holds. The child comes to know of the request only after
/// that, so that a client that expects "100 Continue" gets it from us.
awaitable<exchange::step> exchange::look_at_body() {
    const auto& buffer = client_.buffer;
    body_scanner seen(request_.body);
    auto scanned = seen.scan(client_.unread());
    if (request_.expects_continue && !seen.done() && !seen.malformed()) {
        const bool told = co_await tell_to_go_on();
        if (!told) {
            co_return step::client_gone;
        }
    }
    go_ahead_ = go_ahead::given;
    while (!seen.done() && !seen.malformed() && buffer.size() < buffer.max_size() &&
           !client_.half_closed) {
        error_code error;
        client_.deadline = std::chrono::steady_clock::now() + shared_.settings.idle_timeout;
        co_await client_.read_more(error);
        client_.deadline = steady_time::max();
        if (client_.has_left(error, shared_.settings.on_half_close)) {
            co_return step::client_gone;
        }
        scanned += seen.scan(client_.unread().substr(scanned));
    }
    if (seen.malformed()) {
        co_return step::request_malformed;
    }
    body_start_ = client_.unread().substr(0, scanned);
    body_scanner decoder(request_.body);
    body_start_.resize(decoder.extract(body_start_).payload);
    view_.body_start = body_start_;
    co_return step::ok;
}

awaitable<bool> exchange::tell_to_go_on() {
    error_code error;
    co_await write_to_client("HTTP/1.1 100 Continue\r\n\r\n", {}, error);
    co_return !error;
}

awaitable<exchange::step> exchange::ask_owner() {
    owes_after_response_ = true;
    auto asked = step::ok;
    try {
        auto waiting = shared_.hooks->before_forward(view_);
        if (waiting.valid()) {
            auto holding = wait_for_owner(std::move(waiting));
            auto leaving = client_.gone(shared_.settings.on_half_close);
            const auto first = co_await (std::move(holding) || std::move(leaving));
            asked = first.index() == 0 ? std::get<0>(first) : step::client_gone;
        }
    } catch (const std::exception& failure) {
        asked = hook_failed(failure);
    }
    view_.body_start = {};
    std::string().swap(body_start_); // a response may take hours
    co_return asked;
}

awaitable<exchange::step> exchange::wait_for_owner(awaitable<void> waiting) {
    try {
        co_await std::move(waiting);
    } catch (const std::exception& failure) {
        co_return hook_failed(failure);
    }
    co_return step::ok;
}

exchange::step exchange::hook_failed(const std::exception& failure) const {
    if (!cut_) {
        log::debug("before a request was forwarded: {}", failure.what());
    }
    return step::hook_failed;
}

awaitable<void> exchange::forward() {
    opened_ = co_await open_upstream();
    if (opened_ != step::ok || cut_ || heard_) {
        co_return;
    }
    if (!request_complete()) {
        start_hearing();
    }
    end_ = co_await relay_response();
}

awaitable<exchange::response_end> exchange::relay_response() {
    for (;;) {
        const auto response = co_await read_response();
        if (!response && may_send_again()) {
            opened_ = co_await open_new_upstream();
            if (opened_ == step::ok) {
                continue;
            }
        }
        if (!response || cut_) {
            co_return response_end::no_response;
        }
        const bool switched = response->status == response_head::switching_protocols;
        if (switched && request_.upgrade.empty()) {
            co_return response_end::no_response;
        }
        if (response->interim() && !switched && request_.http_1_0) {
            continue;
        }
        const bool may_keep = request_.keep_alive && request_complete() &&
                              shared_.gate.current() != gate::state::closed;
        const auto plan = plan_delivery(*response, request_.http_1_0, may_keep);
        auto head = head_for_client(*response, plan);
        if (!response->interim() || switched) {
            shared_.hooks->answered(response->status);
        }
        if (!response->interim()) {
            response_keeps_ = plan.keep_alive;
            upstream_keeps_ = may_be_sent_twice() && keeps_upstream(*response);
            ask_for_observer(*response, plan);
            const auto end = co_await relay_response_body(*response, std::move(head), plan);
            co_return end;
        }
        client_written_ = client_written_ || switched;
        error_code error;
        co_await write_to_client(head, {}, error);
        if (error) {
            co_return response_end::client_gone;
        }
        if (switched) {
            co_return response_end::switched;
        }
    }
}

awaitable<void>
exchange::write_to_client(std::string_view head, std::string_view body, error_code& error) {
    const std::array<asio::const_buffer, 2> pieces{
        asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())};
    client_.write_deadline = std::chrono::steady_clock::now() + shared_.settings.write_timeout;
    co_await client_.stream.write(pieces, error);
    client_.write_deadline = steady_time::max();
}

awaitable<std::optional<response_head>> exchange::read_response() {
    auto& from_upstream = upstream_->received;
    head_finder finder;
    std::optional<response_head> response;
    for (;;) {
        const auto bytes = view_of(bytes_of(from_upstream));
        const auto verdict = finder.look(bytes);
        if (verdict == head_finder::verdict::complete) {
            response = read_response_head(bytes.substr(0, finder.end()), request_.method);
            from_upstream.consume(finder.end());
            co_return response;
        }
        const auto room = from_upstream.max_size() - from_upstream.size();
        if (verdict == head_finder::verdict::malformed || room == 0) {
            co_return response;
        }
        error_code error;
        const auto into = from_upstream.prepare(room);
        const auto size = co_await upstream_->socket.async_read_some(into, error_into(error));
        from_upstream.commit(size);
        if (error) {
            co_return response;
        }
        upstream_->stale = false;
    }
}

void exchange::ask_for_observer(const response_head& response, const delivery& plan) {
    if (!owes_after_response_ || body_scanner(response.body).done()) {
        return;
    }
    const response_view view{
        response.status, [&](std::string_view name) { return response.fields.first(name); }};
    observer_ = shared_.hooks->observe_response(view_, view);
    const framing payload_alone{framing::kind::until_close, 0};
    observed_body_ = body_scanner(plan.unchunk ? payload_alone : response.body);
}

/// Takes the bytes of the body as the client got them.
void exchange::show_observer(std::string_view passed) {
    if (observer_) {
        observed_body_.scan(passed, [this](std::string_view payload) { observer_->see(payload); });
    }
}

awaitable<exchange::response_end> exchange::relay_response_body(
    const response_head& response, std::string head, const delivery& plan) {
    const bool unframed = response.body.how == framing::kind::until_close;
    const auto broken =
        unframed || plan.unchunk ? response_end::broken_unframed : response_end::broken;
    auto& from_upstream = upstream_->received;
    body_scanner body(response.body);
    error_code error;
    for (;;) {
        const auto bytes = bytes_of(from_upstream);
        chunk_scanner::extracted part{};
        if (plan.unchunk) {
            part = body.extract(bytes);
        } else {
            part.scanned = body.scan(view_of(bytes));
            part.payload = part.scanned;
        }
        if (body.malformed()) {
            co_return client_written_ ? broken : response_end::no_response;
        }
        if (!head.empty() || part.payload > 0) {
            client_written_ = true;
            const auto payload = view_of(bytes.first(part.payload));
            co_await write_to_client(head, payload, error);
            if (error) {
                co_return response_end::client_gone;
            }
            show_observer(payload);
            head.clear();
        }
        from_upstream.consume(part.scanned);
        if (body.done()) {
            co_return response_end::complete;
        }
        const auto into = from_upstream.prepare(from_upstream.max_size());
        const auto size = co_await upstream_->socket.async_read_some(into, error_into(error));
        from_upstream.commit(size);
        if (error && size == 0) {
            co_return unframed&& error == asio::error::eof ? response_end::complete : broken;
        }
    }
}

} // namespace hibernate::proxy

#include "llama_hibernate/proxy/exchange.hpp"

#include <array>
#include <exception>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/log.hpp"
#include "tunnel.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using boost::system::error_code;

namespace {

constexpr std::size_t upstream_buffer_size = std::size_t{32} * 1024;
constexpr unsigned bad_request = 400;
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
    case bad_request:
        return "invalid_request_error";
    case unavailable:
        return "unavailable_error";
    default:
        return "server_error";
    }
}

std::string_view view_of(std::span<const char> bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace

exchange::exchange(
    shared_state& shared, client_side& client, const request_head& request, request_view& view)
    : shared_(shared), client_(client), request_(request), view_(view),
      upstream_(shared.context.get_executor()), from_upstream_(upstream_buffer_size),
      request_body_(request.body), observed_body_(framing{}) {
    from_upstream_.reserve(upstream_buffer_size);
}

exchange::~exchange() {
    ended(outcome::cut, next::close);
}

void exchange::cut() {
    cut_ = true;
    error_code ignored;
    upstream_.close(ignored);
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

asio::awaitable<exchange::next> exchange::run() {
    if (owner_wants_body()) {
        const auto looked = co_await look_at_body();
        if (cut_ || looked == step::client_gone) {
            co_return next::close;
        }
        if (looked == step::request_malformed) {
            co_return fail(bad_request, malformed_body, outcome::client_gone);
        }
        if (const auto wish = shared_.hooks->refuse_body(view_)) {
            local_answer_ = {wish->status, wish->message, wish->type};
            co_return next::answer;
        }
    }
    const auto half_close = shared_.settings.on_half_close;
    auto starting = start();
    auto leaving = client_.gone(half_close);
    const auto started = co_await (std::move(starting) || std::move(leaving));
    if (cut_ || started.index() == 1) {
        co_return ended(outcome::client_gone, next::close);
    }
    switch (std::get<0>(started)) {
    case step::hook_failed:
        co_return fail(internal_error, "Internal error", outcome::upstream_failed);
    case step::upstream_failed:
        co_return fail(bad_gateway, "llama-server cannot be reached", outcome::upstream_failed);
    case step::out_of_descriptors:
        co_return fail(unavailable, "Too many connections", outcome::upstream_failed);
    default:
        break;
    }

    // The child may answer before it has read the whole request, so both directions run at once.
    auto responding = relay_response();
    auto hearing = hear_client();
    const auto relayed = co_await (std::move(responding) || std::move(hearing));
    if (!cut_ && relayed.index() == 0) {
        const auto end = std::get<0>(relayed);
        if (end == response_end::switched) {
            co_await tunnel(client_, upstream_, from_upstream_);
        }
        co_return conclude(end);
    }
    // Nobody listens any more: the child learns it from this, and stops to generate.
    error_code ignored;
    upstream_.close(ignored);
    if (!cut_ && std::get<1>(relayed) == step::request_malformed) {
        co_return fail(bad_request, malformed_body, outcome::client_gone);
    }
    co_return ended(outcome::client_gone, next::close);
}

exchange::next exchange::conclude(response_end end) {
    switch (end) {
    case response_end::complete:
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
asio::awaitable<exchange::step> exchange::look_at_body() {
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

asio::awaitable<bool> exchange::tell_to_go_on() {
    error_code error;
    co_await write_to_client("HTTP/1.1 100 Continue\r\n\r\n", {}, error);
    co_return !error;
}

asio::awaitable<exchange::step> exchange::start() {
    owes_after_response_ = true;
    bool failed = false;
    try {
        co_await shared_.hooks->before_forward(view_);
    } catch (const std::exception& failure) {
        failed = true;
        if (!cut_) {
            log::debug("before a request was forwarded: {}", failure.what());
        }
    }
    view_.body_start = {};
    std::string().swap(body_start_); // a response may take hours
    if (failed) {
        co_return step::hook_failed;
    }
    const auto opened = co_await open_upstream();
    co_return opened;
}

asio::awaitable<exchange::step> exchange::open_upstream() {
    // The owner may have taken the child away while the hook took its time.
    if (cut_ || !shared_.upstream) {
        co_return step::upstream_failed;
    }
    const auto child = *shared_.upstream;
    error_code error;
    co_await upstream_.async_connect(child, error_into(error));
    if (error) {
        co_return error == asio::error::no_descriptors ? step::out_of_descriptors
                                                       : step::upstream_failed;
    }
    upstream_.set_option(asio::ip::tcp::no_delay(true), error);
    const forwarded_for from{client_.stream.peer_address(), client_.stream.encrypted()};
    const auto head = head_for_upstream(request_, from, go_ahead_);
    const auto buffer = asio::buffer(head);
    co_await asio::async_write(upstream_, buffer, error_into(error));
    co_return error ? step::upstream_failed : step::ok;
}

/// Completes only when the client has gone, or sent what is no body.
asio::awaitable<exchange::step> exchange::hear_client() {
    if (!request_body_.done()) {
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
asio::awaitable<exchange::step> exchange::send_request_body() {
    error_code error;
    bool child_reads = true;
    while (!request_body_.done() && child_reads) {
        const auto part = request_body_.scan(client_.unread());
        if (request_body_.malformed()) {
            co_return step::request_malformed;
        }
        const auto piece = asio::buffer(client_.buffer.cdata(), part);
        co_await asio::async_write(upstream_, piece, error_into(error));
        // A child that reads no further may have answered already; its response decides.
        child_reads = !error;
        client_.buffer.consume(part);
        if (!child_reads) {
            error_code ignored; // if it does read after all, it must not wait for the rest
            upstream_.shutdown(asio::socket_base::shutdown_send, ignored);
        }
        if (request_body_.done() || !child_reads) {
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

asio::awaitable<exchange::response_end> exchange::relay_response() {
    for (;;) {
        const auto response = co_await read_response();
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

asio::awaitable<void>
exchange::write_to_client(std::string_view head, std::string_view body, error_code& error) {
    const std::array<asio::const_buffer, 2> pieces{
        asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())};
    client_.write_deadline = std::chrono::steady_clock::now() + shared_.settings.write_timeout;
    co_await client_.stream.write(pieces, error);
    client_.write_deadline = steady_time::max();
}

asio::awaitable<std::optional<response_head>> exchange::read_response() {
    head_finder finder;
    std::optional<response_head> response;
    for (;;) {
        const auto bytes = view_of(bytes_of(from_upstream_));
        const auto verdict = finder.look(bytes);
        if (verdict == head_finder::verdict::complete) {
            response = read_response_head(bytes.substr(0, finder.end()), request_.method);
            from_upstream_.consume(finder.end());
            co_return response;
        }
        const auto room = from_upstream_.max_size() - from_upstream_.size();
        if (verdict == head_finder::verdict::malformed || room == 0) {
            co_return response;
        }
        error_code error;
        const auto into = from_upstream_.prepare(room);
        const auto size = co_await upstream_.async_read_some(into, error_into(error));
        from_upstream_.commit(size);
        if (error) {
            co_return response;
        }
    }
}

void exchange::ask_for_observer(const response_head& response, const delivery& plan) {
    if (!owes_after_response_ || body_scanner(response.body).done()) {
        return;
    }
    const response_view view{
        response.status, [&](std::string_view name) { return first_field(response.fields, name); }};
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

asio::awaitable<exchange::response_end> exchange::relay_response_body(
    const response_head& response, std::string head, const delivery& plan) {
    const bool unframed = response.body.how == framing::kind::until_close;
    const auto broken =
        unframed || plan.unchunk ? response_end::broken_unframed : response_end::broken;
    body_scanner body(response.body);
    error_code error;
    for (;;) {
        const auto bytes = bytes_of(from_upstream_);
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
        from_upstream_.consume(part.scanned);
        if (body.done()) {
            co_return response_end::complete;
        }
        const auto into = from_upstream_.prepare(from_upstream_.max_size());
        const auto size = co_await upstream_.async_read_some(into, error_into(error));
        from_upstream_.commit(size);
        if (error && size == 0) {
            co_return unframed&& error == asio::error::eof ? response_end::complete : broken;
        }
    }
}

} // namespace hibernate::proxy

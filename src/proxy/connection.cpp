#include "llama_hibernate/proxy/connection.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/target.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using boost::system::error_code;

namespace {

/// A refused request with a body up to this size is read and thrown away, so that its connection
/// can stay.
constexpr std::uint64_t small_body = std::uint64_t{64} * 1024;

request_view make_view(const request_head& request) {
    request_view view;
    view.method = request.method;
    view.target = request.target;
    view.path = path_as_served(request.target);
    view.query = query_of(request.target);
    view.header = [&request](std::string_view name) { return request.fields.first(name); };
    return view;
}

} // namespace

connection::connection(std::shared_ptr<shared_state> shared, client_socket socket, bool surplus)
    : shared_(std::move(shared)),
      client_(
          std::move(socket), shared_->tls ? &*shared_->tls : nullptr, shared_->settings.head_limit),
      surplus_(surplus) {
    shared_->connections.push_back(this);
}

connection::~connection() {
    shared_->connections.remove(this);
}

void connection::cut() {
    cut_ = true;
    client_.stream.close();
    if (exchange_ != nullptr) {
        exchange_->cut();
    }
}

void connection::close_if_idle() {
    if (idle_ && served_) {
        client_.stream.close();
    }
}

void connection::close_if_late(steady_time now) {
    if (now >= std::min(client_.deadline, client_.write_deadline)) {
        client_.deadline = steady_time::max();
        client_.write_deadline = steady_time::max();
        client_.stream.close();
    }
}

bool connection::watch_client() {
    return exchange_ != nullptr && exchange_->watch_client();
}

void connection::set_deadline(std::chrono::milliseconds from_now) {
    client_.deadline = std::chrono::steady_clock::now() + from_now;
}

awaitable<void> connection::run() {
    set_deadline(shared_->settings.head_deadline);
    error_code error;
    co_await client_.stream.handshake(error);
    if (error) {
        co_return;
    }
    auto then = after::keep;
    while (then == after::keep && !cut_) {
        then = co_await serve_request();
    }
    if (then == after::reset) {
        client_.stream.reset();
    } else if (then == after::finish && !cut_) {
        co_await finish();
    }
    client_.stream.close();
}

/// A client that is still sending may read its answer only when it is through with that.
awaitable<void> connection::finish() {
    const auto& settings = shared_->settings;
    const auto longest = std::chrono::steady_clock::now() + settings.head_deadline;
    set_deadline(settings.linger_silence);
    co_await client_.stream.finish();
    error_code error;
    while (!error) {
        set_deadline(settings.linger_silence);
        client_.deadline = std::min(client_.deadline, longest);
        co_await client_.stream.discard_some(error);
    }
}

awaitable<connection::head_end> connection::read_head() {
    head_finder finder;
    bool begun = false;
    set_deadline(shared_->settings.idle_timeout);
    for (;;) {
        while (client_.unread().starts_with("\r\n") && !begun) {
            client_.buffer.consume(2); // some clients end a body with one line too many
        }
        const auto bytes = client_.unread();
        if (!bytes.empty() && bytes != "\r") {
            const auto verdict = finder.look(bytes);
            head_size_ = finder.end();
            if (verdict == head_finder::verdict::complete) {
                client_.deadline = steady_time::max();
                co_return head_end::ready;
            }
            if (verdict == head_finder::verdict::malformed) {
                co_return head_end::malformed;
            }
            if (bytes.size() == client_.buffer.max_size()) {
                co_return finder.in_first_line() ? head_end::target_too_long : head_end::too_large;
            }
            if (!begun) {
                begun = true;
                set_deadline(shared_->settings.head_deadline);
            }
        }
        const bool closing = served_ && shared_->gate.current() == gate::state::closed;
        if (client_.half_closed || (closing && bytes.empty())) {
            co_return head_end::gone;
        }
        idle_ = bytes.empty();
        error_code error;
        co_await client_.read_more(error);
        idle_ = false;
        if (error || cut_) {
            co_return head_end::gone;
        }
    }
}

awaitable<connection::after> connection::serve_request() {
    const auto end = co_await read_head();
    if (end == head_end::gone) {
        co_return after::close;
    }
    served_ = true;
    answer refusal{400, "Invalid request head", "invalid_request_error"};
    if (end == head_end::too_large) {
        refusal = {431, "Request head too large", "invalid_request_error"};
    } else if (end == head_end::target_too_long) {
        refusal = {414, "Request target too long", "invalid_request_error"};
    } else if (end == head_end::ready) {
        const auto read = read_request_head(client_.unread().substr(0, head_size_));
        client_.buffer.consume(head_size_);
        if (const auto* const request = std::get_if<request_head>(&read)) {
            const shared_state::exchange_count counted(*shared_);
            const auto then = co_await serve(*request);
            co_return then;
        }
        const auto& bad = std::get<bad_head>(read);
        refusal.status = bad.status;
        refusal.message = bad.reason;
    }
    const answer_form form;
    const auto then = co_await respond(refusal, form, 0);
    co_return then;
}

awaitable<connection::after> connection::serve(const request_head& request) {
    auto view = make_view(request);
    auto& gate = shared_->gate;
    answer refusal;
    if (surplus_) {
        refusal.message = "Too many connections";
        const auto then = co_await refuse(refusal, request);
        co_return then;
    }
    if (gate.current() == gate::state::holding && is_health(request, view.path)) {
        const bool stayed = co_await held_client_stayed();
        if (!stayed || cut_) {
            co_return after::close;
        }
    }
    if (gate.current() != gate::state::open || !shared_->upstream) {
        refusal.message = gate.reason();
        const auto then = co_await refuse(refusal, request);
        co_return then;
    }
    if (const auto wish = shared_->hooks->refuse(view)) {
        refusal = {wish->status, wish->message, wish->type};
        const auto then = co_await refuse(refusal, request);
        co_return then;
    }
    const auto then = co_await forward(request, view);
    co_return then;
}

awaitable<bool> connection::held_client_stayed() {
    auto opening = shared_->gate.wait_while_holding();
    auto leaving = client_.gone(shared_->settings.on_half_close);
    const auto first = co_await (std::move(opening) || std::move(leaving));
    co_return first.index() == 0;
}

bool connection::is_health(const request_head& request, std::string_view path) const {
    if (request.method != "GET" && request.method != "HEAD") {
        return false;
    }
    const std::string_view health = shared_->settings.health_path;
    const auto last_segment = std::min(health.rfind('/'), health.size());
    auto versioned = std::string(health.substr(0, last_segment)) + "/v1";
    versioned += health.substr(last_segment);
    return path == health || path == versioned;
}

awaitable<connection::after> connection::forward(const request_head& request, request_view& view) {
    exchange one(*shared_, client_, request, view, kept_);
    exchange_ = &one;
    const auto next = co_await one.run();
    exchange_ = nullptr;
    switch (next) {
    case exchange::next::keep:
        co_return after::keep;
    case exchange::next::finish:
        co_return after::finish;
    case exchange::next::close:
        co_return after::close;
    case exchange::next::reset:
        co_return after::reset;
    case exchange::next::answer:
        break;
    }
    answer_form form;
    form.head_only = request.method == "HEAD";
    form.http_1_0 = request.http_1_0;
    form.keep_alive = request.keep_alive && one.request_complete() &&
                      shared_->gate.current() != gate::state::closed;
    const auto then = co_await respond(one.local_answer(), form, 0);
    co_return then;
}

awaitable<connection::after> connection::refuse(const answer& what, const request_head& request) {
    // A client that waits for "100 Continue" may send its body or not: nobody knows what follows.
    const bool body_is_clear = request.body.how != framing::kind::chunked &&
                               request.body.length <= small_body &&
                               (!request.expects_continue || request.body.length == 0);
    answer_form form;
    form.head_only = request.method == "HEAD";
    form.http_1_0 = request.http_1_0;
    form.keep_alive = request.keep_alive && body_is_clear && !surplus_ &&
                      shared_->gate.current() != gate::state::closed;
    const auto then = co_await respond(what, form, request.body.length);
    co_return then;
}

awaitable<connection::after>
connection::respond(const answer& what, answer_form form, std::uint64_t unread_body) {
    set_deadline(shared_->settings.head_deadline);
    const auto text = render(what, form);
    const std::array<asio::const_buffer, 2> pieces{asio::buffer(text), asio::const_buffer()};
    error_code error;
    co_await client_.stream.write(pieces, error);
    if (error) {
        co_return after::close;
    }
    if (!form.keep_alive) {
        co_return after::finish;
    }
    for (;;) {
        const auto unwanted = std::min<std::uint64_t>(unread_body, client_.buffer.size());
        client_.buffer.consume(static_cast<std::size_t>(unwanted));
        unread_body -= unwanted;
        if (unread_body == 0) {
            co_return after::keep;
        }
        co_await client_.read_more(error);
        if (error) {
            co_return after::close;
        }
    }
}

} // namespace hibernate::proxy

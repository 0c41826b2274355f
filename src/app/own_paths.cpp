#include "llama_hibernate/app/own_paths.hpp"

#include <utility>

#include "llama_hibernate/admin/page.hpp"
#include "llama_hibernate/admin/status.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/proxy/answer.hpp"
#include "llama_hibernate/proxy/target.hpp"

namespace hibernate::app {

using namespace std::chrono_literals;
using admin::resource;

namespace {

constexpr auto tick = 1s;
constexpr int ticks_to_refresh = 10; // what others did to the store shows by then
constexpr int ticks_to_remark = 15;  // so that nobody between us takes the connection for dead

/// What is told is for this client at this moment, and not to be taken for anything else.
proxy::own_answer make_answer(const char* type, std::string body) {
    proxy::own_answer made;
    made.fields = {
        {"Content-Type", type},
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"}};
    made.body = std::move(body);
    return made;
}

/// The status as server-sent events: one at once, and one whenever there is something new.
class status_events final : public proxy::piece_source {
public:
    explicit status_events(const own_paths::source& from) : from_(from) {}

    awaitable<std::string> next() override {
        for (;;) {
            auto now = from_.look();
            if (!last_ || admin::is_news(*last_, now)) {
                if (last_ && last_->events != now.events) {
                    from_.begin_refresh(); // something was done, maybe to the store
                }
                last_ = std::move(now);
                quiet_ticks_ = 0;
                co_return "event: status\ndata: " + admin::status_as_json(*last_) + "\n";
            }
            if (++quiet_ticks_ % ticks_to_remark == 0) {
                co_return ":\n\n";
            }
            co_await pause(tick);
            if (quiet_ticks_ % ticks_to_refresh == 0) {
                from_.begin_refresh();
            }
        }
    }

private:
    const own_paths::source& from_;
    std::optional<admin::overview> last_;
    int quiet_ticks_ = 0;
};

} // namespace

own_paths::own_paths(
    proxy::hooks& others,
    std::string_view api_prefix,
    std::vector<std::string> api_keys,
    source from,
    admin::tallies& counts)
    : others_(others), paths_(proxy::prefix_as_served(api_prefix)), keys_(std::move(api_keys)),
      from_(std::move(from)), counts_(counts) {}

bool own_paths::owns(const proxy::request_view& request) {
    return paths_.are_ours(request.path);
}

/// The page is for everybody, as llama-server's is; what it shows is not.
std::optional<proxy::own_answer>
own_paths::refuse_own(resource what, const proxy::request_view& request) const {
    const bool reads = request.method == "GET" || request.method == "HEAD";
    const bool is_open = reads && (what == resource::page || what == resource::directory);
    if (!is_open && !keys_.admit(request.header("Authorization"), request.header("X-Api-Key"))) {
        return proxy::refused({401, "Invalid API Key", "authentication_error"});
    }
    if (what == resource::none) {
        return proxy::refused({404, "File Not Found", "not_found_error"});
    }
    if (!reads) {
        auto answer = proxy::refused({405, "Method Not Allowed", "invalid_request_error"});
        answer.fields.emplace_back("Allow", "GET, HEAD");
        return answer;
    }
    return std::nullopt;
}

awaitable<proxy::own_answer> own_paths::answer(const proxy::request_view& request) {
    const auto what = paths_.find(request.path);
    auto refusal = refuse_own(what, request);
    if (refusal) {
        co_return std::move(*refusal);
    }
    proxy::own_answer made;
    switch (what) {
    case resource::status:
        co_await from_.refresh();
        made = make_answer("application/json; charset=utf-8", admin::status_as_json(from_.look()));
        break;
    case resource::events:
        from_.begin_refresh();
        made = make_answer("text/event-stream", {});
        made.stream = std::make_unique<status_events>(from_);
        break;
    case resource::directory:
        made.status = 308;
        made.fields.emplace_back("Location", "hibernate/");
        break;
    case resource::metrics:
        co_await from_.refresh();
        made = make_answer(
            admin::metrics_type, admin::metrics_as_text(from_.look(), counts_, from_.traffic()));
        break;
    case resource::page:
        made = make_answer("text/html; charset=utf-8", std::string(admin::page()));
        made.fields.emplace_back("Content-Security-Policy", admin::page_policy());
        made.fields.emplace_back("Referrer-Policy", "no-referrer");
        break;
    case resource::none:
        break;
    }
    co_return made;
}

std::optional<proxy::refusal> own_paths::refuse(const proxy::request_view& request) {
    return others_.refuse(request);
}

bool own_paths::wants_body(const proxy::request_view& request) {
    return others_.wants_body(request);
}

std::optional<proxy::refusal> own_paths::refuse_body(const proxy::request_view& request) {
    return others_.refuse_body(request);
}

awaitable<void> own_paths::before_forward(const proxy::request_view& request) {
    auto waiting = others_.before_forward(request);
    return waiting.valid() ? measure(std::move(waiting)) : std::move(waiting);
}

awaitable<void> own_paths::measure(awaitable<void> waiting) {
    const auto begun = std::chrono::steady_clock::now();
    co_await std::move(waiting);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
    counts_.gate_wait_seconds.note(waited.count());
}

std::unique_ptr<proxy::body_observer> own_paths::observe_response(
    const proxy::request_view& request, const proxy::response_view& response) {
    return others_.observe_response(request, response);
}

void own_paths::after_response(const proxy::request_view& request, proxy::outcome how) {
    counts_.upstream_errors += how == proxy::outcome::upstream_failed ? 1 : 0;
    others_.after_response(request, how);
}

void own_paths::answered(unsigned status) {
    constexpr unsigned statuses_in_a_class = 100;
    const auto digit = status / statuses_in_a_class;
    if (digit < counts_.responses.size()) {
        ++counts_.responses[digit];
    }
}

} // namespace hibernate::app

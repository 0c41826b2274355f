#include "llama_hibernate/app/request_hooks.hpp"

#include <algorithm>
#include <array>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/llama/receipt_reader.hpp"
#include "llama_hibernate/proxy/target.hpp"

namespace hibernate::app {

namespace {

constexpr std::string_view conversation_header = "X-Conversation-Id";
constexpr std::size_t most_open_streams = 256;

constexpr std::array<std::string_view, 10> slotless_paths{
    "/tokenize",
    "/detokenize",
    "/apply-template",
    "/props",
    "/lora-adapters",
    "/v1/messages/count_tokens",
    "/models/load",
    "/models/unload",
    "/v1/chat/completions/input_tokens",
    "/v1/responses/input_tokens"};

} // namespace

class request_hooks::receipt_observer final : public proxy::body_observer {
public:
    void see(std::string_view payload) noexcept override {
        try {
            reader_.feed(payload);
        } catch (const std::bad_alloc&) { // then there is no receipt
            broken_ = true;
        }
    }
    std::optional<llama::receipt> result() const {
        return broken_ ? std::nullopt : reader_.result();
    }

private:
    llama::receipt_reader reader_;
    bool broken_ = false;
};

request_hooks::request_hooks(
    std::string_view api_prefix, bool slot_actions_allowed, slot_watch watch)
    : api_prefix_(proxy::prefix_as_served(api_prefix)), watch_(std::move(watch)),
      slots_path_(api_prefix_ + "/slots/"), slot_actions_allowed_(slot_actions_allowed) {}

bool request_hooks::is_slot_action(const proxy::request_view& request) const {
    return request.method == "POST" && request.path.starts_with(slots_path_);
}

slot_action_reading request_hooks::read_action(const proxy::request_view& request) const {
    const auto id = std::string_view(request.path).substr(slots_path_.size());
    return read_slot_action(id, request.query, watch_.slot_count());
}

/// Any POST but those that are known to need no slot: llama-server has many names for a completion,
/// and gains more.
bool request_hooks::may_take_slot(const proxy::request_view& request) const {
    std::string_view path = request.path;
    if (request.method != "POST" || !path.starts_with(api_prefix_)) {
        return false;
    }
    path.remove_prefix(api_prefix_.size());
    return std::find(slotless_paths.begin(), slotless_paths.end(), path) == slotless_paths.end() &&
           !path.starts_with("/slots/");
}

/// llama-server loads its model again for whatever needs it, and to show its slots.
bool request_hooks::wakes_child(const proxy::request_view& request) const {
    const std::string_view path = request.path;
    if (!path.starts_with(api_prefix_)) {
        return false;
    }
    const auto own = path.substr(api_prefix_.size());
    return request.method == "POST" || own == "/slots" || own == "/lora-adapters";
}

bool request_hooks::wants_body(const proxy::request_view& request) {
    return may_take_slot(request) || is_slot_action(request);
}

std::optional<proxy::refusal> request_hooks::refuse_body(const proxy::request_view& request) {
    return is_slot_action(request) ? refuse_slot_file(
                                         request.body_start, request.header("Content-Type"),
                                         request.header("Content-Encoding"))
                                   : std::nullopt;
}

std::optional<proxy::refusal> request_hooks::refuse(const proxy::request_view& request) {
    if (!is_slot_action(request)) {
        return std::nullopt;
    }
    if (slot_actions_allowed_) {
        const auto asked = read_action(request);
        return asked.action ? std::nullopt : std::optional(asked.refusal);
    }
    return proxy::refusal{
        403,
        "llama-hibernate saves and restores the slots itself; start it with --slot-save-path to "
        "use this endpoint",
        "permission_error"};
}

awaitable<void> request_hooks::before_forward(const proxy::request_view& request) {
    if (may_take_slot(request) || is_slot_action(request) || wakes_child(request)) {
        return wait_for_slots(request);
    }
    note_stream(request);
    return {};
}

awaitable<void> request_hooks::wait_for_slots(const proxy::request_view& request) {
    if (may_take_slot(request)) {
        co_await watch_.before_request(request.body_start);
        watched_[&request] = {std::string(request.body_start), nullptr};
    } else if (is_slot_action(request)) {
        const auto asked = read_action(request).action.value_or(slot_action());
        co_await watch_.before_action(asked);
        acting_.insert(&request);
    } else {
        co_await watch_.before_other_request();
    }
    note_stream(request);
}

void request_hooks::note_stream(const proxy::request_view& request) {
    if (const auto id = request.header(conversation_header); id && !id->empty()) {
        std::erase(open_streams_, *id);
        open_streams_.emplace_back(*id);
        if (open_streams_.size() > most_open_streams) {
            open_streams_.pop_front();
        }
    }
}

std::unique_ptr<proxy::body_observer> request_hooks::observe_response(
    const proxy::request_view& request, const proxy::response_view& response) {
    const auto watched = watched_.find(&request);
    const auto coding = response.header("Content-Encoding").value_or("identity");
    if (watched == watched_.end() || response.status != 200 || coding != "identity") {
        return nullptr;
    }
    auto observer = std::make_unique<receipt_observer>();
    watched->second.observer = observer.get();
    return observer;
}

void request_hooks::after_response(const proxy::request_view& request, proxy::outcome how) {
    if (auto watched = watched_.extract(&request)) {
        auto& [body_start, observer] = watched.mapped();
        // Of a response that was not seen to its end it is not known how much was computed.
        const bool whole = how == proxy::outcome::complete && observer != nullptr;
        watch_.after_request({whole ? observer->result() : std::nullopt, std::move(body_start)});
    }
    if (acting_.erase(&request) != 0) {
        watch_.after_action(how != proxy::outcome::complete);
    }
    if (how != proxy::outcome::complete) {
        return;
    }
    answered_posts_ += request.method == "POST" ? 1 : 0;
    if (const auto id = request.header(conversation_header)) {
        std::erase(open_streams_, *id);
    }
}

std::vector<std::string> request_hooks::take_open_streams() {
    std::vector<std::string> ids(open_streams_.begin(), open_streams_.end());
    open_streams_.clear();
    return ids;
}

} // namespace hibernate::app

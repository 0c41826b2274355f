#include "llama_hibernate/app/request_hooks.hpp"

#include <algorithm>

namespace hibernate::app {

namespace {

constexpr std::string_view conversation_header = "X-Conversation-Id";
constexpr std::size_t most_open_streams = 256;

} // namespace

request_hooks::request_hooks(std::string api_prefix, bool slot_actions_allowed)
    : slots_path_(std::move(api_prefix) + "/slots/"), slot_actions_allowed_(slot_actions_allowed) {}

std::optional<proxy::refusal> request_hooks::refuse(const proxy::request_view& request) {
    const bool slot_action = request.method == "POST" && request.path.starts_with(slots_path_);
    if (!slot_action || slot_actions_allowed_) {
        return std::nullopt;
    }
    return proxy::refusal{
        403,
        "llama-hibernate saves and restores the slots itself; start it with --slot-save-path to "
        "use this endpoint",
        "permission_error"};
}

boost::asio::awaitable<void> request_hooks::before_forward(const proxy::request_view& request) {
    if (const auto id = request.header(conversation_header); id && !id->empty()) {
        std::erase(open_streams_, *id);
        open_streams_.emplace_back(*id);
        if (open_streams_.size() > most_open_streams) {
            open_streams_.pop_front();
        }
    }
    co_return;
}

void request_hooks::after_response(const proxy::request_view& request, proxy::outcome how) {
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

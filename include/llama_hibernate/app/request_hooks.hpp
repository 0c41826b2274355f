#pragma once
// What the daemon wants to know of, or to keep from, the requests that pass through the proxy.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llama_hibernate/app/slot_action.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/keeper/slot_receipts.hpp"
#include "llama_hibernate/proxy/hooks.hpp"

namespace hibernate::app {

class request_hooks final : public proxy::hooks {
public:
    /// Who saves slots while requests are served: told of each request that a slot may work on, and
    /// before any other that would wake a child that sleeps.
    struct slot_watch {
        std::function<awaitable<void>(std::string_view body_start)> before_request;
        std::function<awaitable<void>()> before_other_request;
        std::function<void(keeper::ended_request ended)> after_request;
        /// How many slots there are; nothing while that is not known.
        std::function<std::optional<int>()> slot_count;
        /// The same for the slot actions of others.
        std::function<awaitable<void>(slot_action asked)> before_action;
        std::function<void(bool client_left)> after_action;
    };

    /// With slot_actions_allowed, POST /slots/... passes if it does not touch what is ours (see
    /// slot_action.hpp): the user gave --slot-save-path.
    request_hooks(std::string_view api_prefix, bool slot_actions_allowed, slot_watch watch);

    std::optional<proxy::refusal> refuse(const proxy::request_view& request) override;
    bool wants_body(const proxy::request_view& request) override;
    std::optional<proxy::refusal> refuse_body(const proxy::request_view& request) override;
    awaitable<void> before_forward(const proxy::request_view& request) override;
    std::unique_ptr<proxy::body_observer> observe_response(
        const proxy::request_view& request, const proxy::response_view& response) override;
    void after_response(const proxy::request_view& request, proxy::outcome how) override;

    /// POST requests that were answered to their end, of any kind.
    std::size_t answered_posts() const noexcept { return answered_posts_; }

    /// Conversation ids of resumable streams that may still run in the child: their clients left
    /// before the end. They outlive their clients and would keep the child from stopping.
    std::vector<std::string> take_open_streams();

private:
    bool is_slot_action(const proxy::request_view& request) const;
    slot_action_reading read_action(const proxy::request_view& request) const;
    bool may_take_slot(const proxy::request_view& request) const;
    bool wakes_child(const proxy::request_view& request) const;
    awaitable<void> wait_for_slots(const proxy::request_view& request);
    void note_stream(const proxy::request_view& request);

    std::string api_prefix_;
    slot_watch watch_;
    class receipt_observer;
    struct watched_request {
        std::string body_start;
        const receipt_observer* observer =
            nullptr; ///< who reads the response's receipt, if anybody
    };
    std::map<const proxy::request_view*, watched_request> watched_; ///< that the watch was told of
    std::set<const proxy::request_view*> acting_;                   ///< slot actions, likewise
    std::string slots_path_; ///< "/slots/", with the API prefix
    bool slot_actions_allowed_;
    std::deque<std::string> open_streams_; ///< the oldest first, each once
    std::size_t answered_posts_ = 0;
};

} // namespace hibernate::app

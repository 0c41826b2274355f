#pragma once
// Our own paths, answered in every state of the daemon, and what is counted of all requests. A
// request for one of them is no activity: it goes neither to the child nor to the hooks behind
// this, which see everything else.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/admin/api_keys.hpp"
#include "llama_hibernate/admin/metrics.hpp"
#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/admin/paths.hpp"
#include "llama_hibernate/admin/tallies.hpp"
#include "llama_hibernate/proxy/hooks.hpp"

namespace hibernate::app {

class own_paths final : public proxy::hooks {
public:
    /// Where the answers come from; none of it asks the child.
    struct source {
        std::function<admin::overview()> look;
        std::function<admin::traffic()> traffic;
        /// Brings what is shown of the store up to date, in a moment that a client may wait.
        std::function<awaitable<void>()> refresh;
        /// Begins to, without waiting.
        std::function<void()> begin_refresh;
    };

    /// others and counts outlive this.
    own_paths(
        proxy::hooks& others,
        std::string_view api_prefix,
        std::vector<std::string> api_keys,
        source from,
        admin::tallies& counts);

    bool owns(const proxy::request_view& request) override;
    awaitable<proxy::own_answer> answer(const proxy::request_view& request) override;

    std::optional<proxy::refusal> refuse(const proxy::request_view& request) override;
    bool wants_body(const proxy::request_view& request) override;
    std::optional<proxy::refusal> refuse_body(const proxy::request_view& request) override;
    awaitable<void> before_forward(const proxy::request_view& request) override;
    std::unique_ptr<proxy::body_observer> observe_response(
        const proxy::request_view& request, const proxy::response_view& response) override;
    void after_response(const proxy::request_view& request, proxy::outcome how) override;
    void answered(unsigned status) override;

private:
    awaitable<void> measure(awaitable<void> waiting);
    std::optional<proxy::own_answer>
    refuse_own(admin::resource what, const proxy::request_view& request) const;

    proxy::hooks& others_;
    admin::paths paths_;
    admin::api_keys keys_;
    source from_;
    admin::tallies& counts_;
};

} // namespace hibernate::app

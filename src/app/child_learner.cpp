#include "llama_hibernate/app/child_learner.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "llama_hibernate/app/advice.hpp"
#include "llama_hibernate/app/state_version.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto props_pause = 25ms;
// Without its facts nothing can be saved either, so this is no part of the restore budget.
constexpr auto props_patience = 10s;

/// The arguments alone do not tell: with a draft model but no --spec-type recent builds load it,
/// and draft nothing.
awaitable<bool> uses_draft_model(
    llama::client& client, const llama::server_args& args, clock::time_point deadline) {
    if (!args.names_draft_model()) {
        co_return false;
    }
    const auto slots = co_await client.slots(deadline);
    const auto drafts = [](const llama::slot& one) { return one.speculative; };
    const bool any = slots && std::any_of(slots->begin(), slots->end(), drafts);
    co_return any;
}

} // namespace

awaitable<std::optional<child_facts>> child_learner::learn(std::function<bool()> abandoned) {
    const auto deadline = clock::now() + props_patience;
    for (;;) {
        // A build may answer /health before it answers /props.
        auto props = co_await client.props(deadline);
        if (props) {
            const auto identify = [this, props = *props] {
                return identify_files(disk, args, props, versions);
            };
            const auto identities = co_await thread.run(identify);
            if (!identities.problem.empty()) {
                problem = std::string(nothing_is_kept) + identities.problem;
                log::error("{}", problem);
                co_return std::nullopt;
            }
            auto facts = describe_child(args, *props, identities);
            facts.uses_draft_model = co_await uses_draft_model(client, args, deadline);
            if (any_build) {
                const auto version =
                    co_await learn_state_version(client, thread, disk, directory, deadline);
                if (version) {
                    accept_any_build(facts, *version);
                } else {
                    log::warning("so only snapshots of its own build are restored");
                }
            }
            co_return facts;
        }
        if (abandoned()) {
            co_return std::nullopt;
        }
        const auto& failure = props.failure();
        const bool may_come = failure.status == 0 || failure.status == 503;
        if (!may_come || clock::now() >= deadline) {
            problem = fmt::format("{}no answer to /props: {}", nothing_is_kept, failure.message);
            log::error("{}", problem);
            co_return std::nullopt;
        }
        co_await pause(props_pause);
    }
}

} // namespace hibernate::app

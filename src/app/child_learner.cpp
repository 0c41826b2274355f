#include "llama_hibernate/app/child_learner.hpp"

#include <chrono>

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
                log::error("conversations are neither saved nor restored: {}", identities.problem);
                co_return std::nullopt;
            }
            auto facts = describe_child(args, *props, identities);
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
            log::error(
                "conversations are neither saved nor restored: no answer to /props: {}",
                failure.message);
            co_return std::nullopt;
        }
        co_await pause(props_pause);
    }
}

} // namespace hibernate::app

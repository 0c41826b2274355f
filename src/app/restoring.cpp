#include "llama_hibernate/app/restoring.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/core.h>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// A token may take long on a large model, and to load that again takes much longer.
constexpr auto least_time_for_a_token = 10s;
constexpr auto erase_limit = 2s;

/// Whether the answer is about the file. Any other (no such endpoint, no such key, not now) says
/// nothing against it, and the next snapshot would get the same one.
bool refuses_the_snapshot(unsigned status) {
    return status == 400 || status == 500;
}

} // namespace

slot_restorer::slot_restorer(
    llama::client& client,
    disk_thread& disk,
    store::model_directory& directory,
    std::atomic<bool>& stop_reading,
    restore_watch watch)
    : client_(client), disk_(disk), directory_(directory), stop_reading_(stop_reading),
      watch_(std::move(watch)) {}

awaitable<restore_report>
slot_restorer::run(preload first, keeper::restore_plan plan, time_point deadline) {
    const auto start = clock::now();
    planned_ = first.snapshots.size() + plan.steps.size();
    std::deque<keeper::restore_step> to_do(plan.steps.begin(), plan.steps.end());
    co_await fill_cache(std::move(first), start + (deadline - start) / 2);
    if (report_.child != child_state::well) {
        to_do.clear();
    }
    const auto preloaded = report_.restored.size();

    while (!to_do.empty() && !watch_.abandoned() && clock::now() < deadline) {
        const auto step = std::move(to_do.front());
        to_do.pop_front();
        const auto outcome = co_await perform(step, deadline);
        if (outcome == step_outcome::over || report_.child != child_state::well) {
            break;
        }
        if (outcome == step_outcome::unfit) {
            const auto older = co_await hidden_by(step.snapshot.manifest);
            plan.spares.insert(plan.spares.begin(), older.begin(), older.end());
            if (auto spare = keeper::take_spare(plan, step)) {
                to_do.push_front(std::move(*spare));
                --number_;
            }
        }
    }
    for (auto i = preloaded; i < report_.restored.size(); ++i) {
        report_.in_slots.push_back(report_.restored[i].id);
    }
    report_.left_out = planned_ - std::min(planned_, report_.restored.size());
    report_.time = std::chrono::duration_cast<milliseconds>(clock::now() - start);
    co_return std::move(report_);
}

awaitable<void> slot_restorer::fill_cache(preload what, time_point deadline) {
    for (auto& snapshot : what.snapshots) {
        if (watch_.abandoned() || clock::now() >= deadline) {
            co_return;
        }
        const keeper::restore_step step{std::move(snapshot), 0};
        const auto outcome = co_await perform(step, deadline);
        if (outcome == step_outcome::over || report_.child != child_state::well) {
            co_return;
        }
        if (outcome != step_outcome::restored) {
            continue;
        }
        const auto pushed = co_await client_.push_into_cache(what.other_slot, deadline);
        if (!pushed) {
            log::warning(
                "snapshot {} did not get into the RAM cache: {}", step.snapshot.manifest.id,
                pushed.failure().message);
            co_return;
        }
    }
}

awaitable<slot_restorer::step_outcome>
slot_restorer::perform(const keeper::restore_step& step, time_point deadline) {
    const auto& manifest = step.snapshot.manifest;
    watch_.progress(std::min(++number_, planned_), planned_);
    const auto soundness = co_await check(manifest.id, deadline);
    if (watch_.abandoned()) {
        co_return step_outcome::over;
    }
    if (soundness != store::soundness::sound) {
        co_return soundness == store::soundness::quarantined ? step_outcome::unfit
                                                             : step_outcome::left_out;
    }

    watch_.offered(manifest.id);
    auto result = co_await client_.restore_slot(step.slot, step.snapshot.file_name, deadline);
    if (watch_.abandoned()) {
        co_return step_outcome::over;
    }
    if (result && result->tokens != manifest.tokens) {
        const auto wrong = fmt::format(
            "llama-server restored {} tokens of its {}", result->tokens, manifest.tokens);
        co_await quarantine(manifest.id, wrong);
        // Before another task moves it from the slot to the RAM cache.
        const auto erased = co_await client_.erase_slot(step.slot, clock::now() + erase_limit);
        report_.child = erased ? child_state::well : child_state::harmed;
        co_return step_outcome::unfit;
    }
    if (result) {
        report_.restored.push_back(
            {manifest.id, step.slot, result->tokens, store::useful_tokens(manifest), result->time});
        report_.tokens += result->tokens;
        const auto took = std::chrono::duration_cast<milliseconds>(result->time);
        log::write(
            log::level::info,
            fmt::format(
                "restored slot {}: {} tokens, {} in {} (snapshot {})", step.slot,
                format_number(result->tokens), format_bytes(manifest.bytes), format_duration(took),
                manifest.id),
            {{"slot", step.slot},
             {"tokens", result->tokens},
             {"bytes", manifest.bytes},
             {"restore_ms", took},
             {"snapshot", manifest.id}});
        co_return step_outcome::restored;
    }

    const auto failure = result.failure();
    if (!refuses_the_snapshot(failure.status)) {
        log::warning(
            "snapshot {} ({} tokens) was not restored into slot {}: {}", manifest.id,
            manifest.tokens, step.slot, failure.message);
        if (failure.status == 0 && clock::now() < deadline) {
            report_.child = child_state::gone;
        }
        co_return step_outcome::over;
    }
    co_await quarantine(manifest.id, "llama-server refused it: " + failure.message);
    report_.child = co_await examine_child(step.slot, deadline);
    co_return step_outcome::unfit;
}

awaitable<store::soundness> slot_restorer::check(std::string id, time_point deadline) {
    if (watch_.abandoned()) {
        co_return store::soundness::unknown;
    }
    stop_reading_ = false;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer limit(executor, deadline);
    limit.async_wait([&stop = stop_reading_](const boost::system::error_code& ec) {
        if (!ec) {
            stop = true;
        }
    });
    const auto goes_on = [this](std::uint64_t) { return !stop_reading_; };
    const auto work = [this, id, goes_on] { return directory_.check(id, goes_on); };
    const auto found = co_await disk_.run(work);
    co_return found;
}

awaitable<std::vector<store::snapshot>> slot_restorer::hidden_by(store::manifest unfit) {
    const auto look = [this, unfit] {
        std::vector<store::snapshot> older;
        if (unfit.supersedes.empty()) {
            return older;
        }
        for (auto& one : directory_.snapshots()) {
            const auto& old = unfit.supersedes;
            if (std::find(old.begin(), old.end(), one.manifest.id) != old.end()) {
                older.push_back(std::move(one));
            }
        }
        return older;
    };
    auto found = co_await disk_.run(look);
    co_return found;
}

awaitable<void> slot_restorer::quarantine(std::string id, std::string reason) {
    const auto work = [this, id, reason] {
        directory_.quarantine(id, reason);
        return true;
    };
    co_await disk_.run(work);
}

awaitable<child_state> slot_restorer::examine_child(int empty_slot, time_point deadline) {
    const auto limit = std::max(deadline, clock::now() + least_time_for_a_token);
    const auto answer = co_await client_.generate_token(empty_slot, limit);
    if (watch_.abandoned()) {
        co_return child_state::well;
    }
    if (!answer) {
        const auto& failure = answer.failure();
        log::warning(
            "after the refused restore llama-server does not generate: {}", failure.message);
        if (failure.status == 0 && clock::now() < limit) {
            co_return child_state::gone;
        }
        // One that says why it does not want to (an embedding model, say) works.
        const bool unwilling =
            failure.status == 501 || (failure.status >= 400 && failure.status < 500);
        co_return unwilling ? child_state::well : child_state::harmed;
    }
    const auto erased = co_await client_.erase_slot(empty_slot, clock::now() + erase_limit);
    if (!erased) {
        log::debug("slot {} was not emptied: {}", empty_slot, erased.failure().message);
    }
    co_return child_state::well;
}

} // namespace hibernate::app

// Saving as a part of keeping: while requests are served, and at a stop.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "llama_hibernate/app/keeping.hpp"
#include "llama_hibernate/app/stop_report.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto short_patience = 200ms;

std::vector<std::string> ids_of(const std::vector<saved_snapshot>& snapshots) {
    std::vector<std::string> ids;
    for (const auto& one : snapshots) {
        ids.push_back(one.id);
    }
    return ids;
}

} // namespace

/// What does not change from one save to the next is told once.
void keeping::note(const save_report& report) {
    if (!report.unsupported.empty() && !std::exchange(unsupported_told_, true)) {
        log::warning(
            "llama-server cannot save every slot ({}); conversations of that kind are lost when it "
            "stops",
            report.unsupported);
    }
    reuse_.settle(report.superseded_ids);
    if (report.missed != 0) {
        begin_look_for_reuse();
    }
}

slot_saver keeping::make_saver(llama::client& client, slot_saver::history_of history) {
    return slot_saver(
        client, disk_thread_, *disk_, *directory_, *room_, *facts_, just_saved_,
        options_.min_tokens, speed_, boundary_, std::move(history));
}

awaitable<std::optional<live_saving::saved_slot>>
keeping::save_live(std::shared_ptr<llama::client> client, live_saving::due_save what) {
    std::optional<live_saving::saved_slot> outcome;
    if (!facts_) {
        co_return outcome; // the child has just died
    }
    const auto history = [this, &what](int) { return reuse_.history_of(what.turns); };
    auto saver = make_saver(*client, history);
    const keeper::slot_to_save slot{what.slot.id, what.slot.tokens};
    const auto how =
        what.may_cut ? slot_saver::extent::with_prompt : slot_saver::extent::whole_only;
    auto report = co_await saver.save_one(slot, what.reason, how, clock::now() + what.limit);
    note(report);
    journal_.note_save(what.reason, report, [&what](int) { return what.turns; });
    if (report.saved.empty()) {
        co_return outcome;
    }
    just_saved_ = {report.saved.front().id}; // its prompt goes if there is no room
    // Requests need not wait for the medium.
    const auto sync = [this, ids = ids_of(report.saved)] {
        for (const auto& id : ids) {
            make_durable(id);
        }
    };
    background_.start(sync, [] {});
    const auto note = [this, bytes = report.bytes] { account_->note(bytes, store::wall_now()); };
    disk_thread_.start(note, [] {});
    outcome = live_saving::saved_slot{report.tokens, report.cut};
    co_return outcome;
}

bool keeping::may_write() {
    if (options_.write_budget == 0 || args_.sleep_after) { // what sleeps forgets
        return true;
    }
    const bool may = account_->written_today(store::wall_now()) < options_.write_budget;
    if (!may && !std::exchange(budget_told_, true)) {
        log::info(
            "the write budget of {} is used up; idle slots are not saved until tomorrow (UTC)",
            format_bytes(options_.write_budget));
    }
    budget_told_ = !may;
    return may;
}

awaitable<void> keeping::save(
    std::shared_ptr<llama::client> client,
    time_point deadline,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned) {
    if (!directory_ || !facts_) {
        co_return;
    }
    // Whoever has no patience may cut it short, and us with it: the next start knows that then.
    save_report nothing_yet;
    if (live_) {
        constexpr auto failures = keeper::slot_table::failures::with;
        nothing_yet.not_saved = live_->slots().unsaved(options_.min_tokens, failures).size();
    }
    remember_stop(nothing_yet, true);
    if (live_) {
        co_await live_->stop(deadline);
    }
    const keeper::slot_table nothing_known;
    const auto turns_of = [this](int slot) {
        return live_ ? live_->receipts().turns_of(slot) : keeper::slot_turns{{}, false};
    };
    const auto history = [this, turns_of](int slot) { return reuse_.history_of(turns_of(slot)); };
    auto saver = make_saver(*client, history);
    auto report =
        co_await saver.run(live_ ? live_->slots() : nothing_known, deadline, progress, abandoned);
    note(report);
    journal_.note_save("stop", report, turns_of);
    saved_ids_ = ids_of(report.saved);
    report_stop(report, options_, abandoned());
    remember_stop(report, abandoned());
    const auto noted = [] { return true; };
    co_await disk_thread_.run_until(clock::now() + short_patience, noted);
    stop_is_noted_ = true;
}

awaitable<void> keeping::settle() {
    const auto deadline = clock::now() + short_patience;
    while (directory_ && !stop_is_noted_ && clock::now() < deadline) {
        co_await pause(1ms);
    }
}

void keeping::remember_stop(const save_report& report, bool cut_short) {
    const auto work = [this, record = record_stop(report, store::wall_now(), cut_short)] {
        if (const auto ec = store::write_stop_record(*disk_, directory_->path(), record); ec) {
            log::debug("what was saved is not noted for the next start: {}", ec.message());
        }
    };
    disk_thread_.start(work, [] {});
}

awaitable<void> keeping::finish(time_point deadline) {
    // What was noted at the start is soon done; a sync that takes long is for the next start.
    const auto nothing = [] { return true; };
    co_await background_.run_until(std::min(deadline, clock::now() + short_patience), nothing);
    if (saved_ids_.empty() && in_use_.empty()) {
        co_return;
    }
    const auto sync = [this, ids = saved_ids_, survivors = in_use_] {
        for (const auto& id : survivors) {
            directory_->note_survival(id);
        }
        for (const auto& id : ids) {
            make_durable(id);
        }
        return true;
    };
    const auto done = co_await disk_thread_.run_until(deadline, sync);
    if (!done) {
        log::warning("the stop budget is over before all snapshots were synced to the disk");
    }
}

void keeping::make_durable(const std::string& id) {
    if (const auto ec = directory_->make_durable(id); ec) {
        log::warning("snapshot {} is not safe from a power cut: {}", id, ec.message());
    }
}

} // namespace hibernate::app

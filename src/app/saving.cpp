#include "llama_hibernate/app/saving.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

const std::string too_slow = "the disk is too slow for the stop budget";

} // namespace

// What runs on the disk thread may outlast this object, when the deadline comes first: it refers
// only to what outlives that, and copies the rest.

slot_saver::slot_saver(
    llama::client& client,
    disk_thread& disk,
    store::model_directory& directory,
    store::room_keeper& room,
    const child_facts& facts,
    std::set<std::string> in_use,
    std::uint64_t min_tokens,
    keeper::save_speed& speed,
    judge_maker judge)
    : client_(client), disk_(disk), directory_(directory), room_(room), facts_(facts),
      min_tokens_(min_tokens), speed_(speed),
      judge_(std::move(judge)), now_{facts.signature, std::move(in_use), facts.bytes_per_token} {}

asio::awaitable<save_report>
slot_saver::save_one(keeper::slot_to_save slot, const char* reason, time_point deadline) {
    const std::function<bool()> never = [] { return false; };
    const bool ready = co_await prepare(deadline);
    if (ready) {
        co_await save(slot, reason, deadline, never);
    }
    co_return std::move(report_);
}

/// False, and a log line, where there is no place for a save.
asio::awaitable<bool> slot_saver::prepare(time_point deadline) {
    const auto look = [&directory = directory_] { return directory.recreate_if_removed(); };
    const auto problem = co_await disk_.run_until(deadline, look);
    if (!problem || *problem) {
        log::error(
            "nothing is saved: {}: {}", directory_.path().string(),
            problem ? problem->message() : too_slow);
        co_return false;
    }
    co_return true;
}

asio::awaitable<save_report> slot_saver::run(
    const keeper::slot_table& known, time_point deadline, std::function<bool()> abandoned) {
    const auto start = clock::now();
    const bool ready = co_await prepare(deadline);
    if (!ready) {
        co_return std::move(report_);
    }
    const auto slots = co_await choose_slots(known, deadline);
    for (const auto& slot : slots) {
        if (abandoned() || clock::now() >= deadline) {
            ++report_.not_saved;
        } else {
            co_await save(slot, "stop", deadline, abandoned);
        }
    }
    report_.time = std::chrono::duration_cast<milliseconds>(clock::now() - start);
    co_return std::move(report_);
}

/// Which slots to save. GET /slots would wake a child that sleeps, and it has nothing left to save.
asio::awaitable<std::vector<keeper::slot_to_save>>
slot_saver::choose_slots(const keeper::slot_table& known, time_point deadline) {
    const auto props = co_await client_.props(deadline);
    if (props && props->is_sleeping) {
        log::info("llama-server sleeps: its slots are empty");
        co_return std::vector<keeper::slot_to_save>();
    }
    auto slots = co_await client_.slots(deadline);
    if (slots) {
        co_return keeper::plan_save(*slots, known, min_tokens_);
    }
    if (slots.failure().status == 0) {
        log::error("llama-server does not say what its slots hold: {}", slots.failure().message);
    }
    co_return keeper::plan_save_blindly(facts_.total_slots);
}

asio::awaitable<void> slot_saver::save(
    keeper::slot_to_save slot,
    const char* reason,
    time_point deadline,
    const std::function<bool()>& abandoned) {
    const auto make_room = [&keeper = room_, now = now_, tokens = slot.tokens] {
        return keeper.before_save(now, tokens);
    };
    const auto room = co_await disk_.run_until(deadline, make_room);
    if (!room || !room->enough) {
        give_up(slot.id, room ? room->problem : too_slow);
        co_return;
    }
    if (abandoned()) { // to make room took its time
        ++report_.not_saved;
        co_return;
    }
    if (comes_too_late(slot, room->estimate, deadline)) {
        co_return;
    }

    store::staged_save staged;
    staged.staging_name = directory_.new_staging_name();
    staged.slot = slot.id;
    staged.reason = reason;
    staged.signature = facts_.signature;
    staged.model_name = facts_.model_name;
    staged.model_path = facts_.model_path;
    staged.was_reused = judge_(slot.id);
    const auto create = [&directory = directory_, name = staged.staging_name] {
        return directory.create_staging(name);
    };
    const auto not_created = co_await disk_.run_until(deadline, create);
    if (!not_created || *not_created) {
        const auto why = not_created ? not_created->message() : too_slow;
        give_up(slot.id, fmt::format("its file cannot be made: {}", why));
        co_return;
    }
    const auto saved = co_await client_.save_slot(slot.id, staged.staging_name, deadline);
    if (saved) {
        staged.tokens = saved->tokens < min_tokens_ ? 0 : saved->tokens; // 0: it is thrown away
        staged.bytes = saved->bytes;
        staged.time = saved->time;
        co_await publish(std::move(staged), deadline);
        co_return;
    }
    // Without an answer the child may still be writing it: then the next start removes it.
    if (saved.failure().status == 0) {
        give_up(slot.id, saved.failure().message);
        co_return;
    }
    const auto clean_up = [&keeper = room_, &directory = directory_, name = staged.staging_name,
                           expected = room->estimate] {
        auto trouble = keeper.find_trouble(expected); // while the file is still there
        directory.discard_staging(name);
        return trouble;
    };
    const auto found = co_await disk_.run_until(deadline, clean_up);
    const auto trouble = found.value_or("");
    give_up(
        slot.id, trouble.empty() ? saved.failure().message
                                 : fmt::format("{} ({})", saved.failure().message, trouble));
}

asio::awaitable<void> slot_saver::publish(store::staged_save staged, time_point deadline) {
    const auto work = [&keeper = room_, &directory = directory_, now = now_, staged] {
        auto outcome = directory.publish(staged, store::wall_now());
        if (outcome.published) {
            const auto room = keeper.after_save(now, outcome.published->manifest.id);
            if (!room.enough) {
                outcome.published.reset();
                outcome.problem = room.problem;
            }
        }
        return outcome;
    };
    const auto outcome = co_await disk_.run_until(deadline, work);
    if (!outcome || !outcome->published) {
        if (staged.tokens != 0) {
            give_up(staged.slot, outcome ? outcome->problem : too_slow);
        }
        co_return;
    }
    const auto& manifest = outcome->published->manifest;
    speed_.note(manifest.bytes, manifest.save_time);
    now_.in_use.insert(manifest.id);
    report_.saved_ids.push_back(manifest.id);
    const auto& superseded = outcome->superseded_ids;
    report_.superseded_ids.insert(
        report_.superseded_ids.end(), superseded.begin(), superseded.end());
    report_.missed += outcome->missed_ids.size();
    report_.tokens += manifest.tokens;
    report_.bytes += manifest.bytes;
    log::info(
        "saved slot {} ({}): {} tokens, {} in {} (snapshot {})", staged.slot, staged.reason,
        manifest.tokens, format_bytes(manifest.bytes),
        format_duration(std::chrono::duration_cast<milliseconds>(manifest.save_time)), manifest.id);
    for (const auto& id : outcome->reused_ids) {
        log::debug("snapshot {} had been restored, and was reused", id);
    }
    for (const auto& id : outcome->missed_ids) {
        log::info("snapshot {} had been restored, but llama-server computed it again", id);
    }
}

bool slot_saver::comes_too_late(
    keeper::slot_to_save slot, std::optional<std::uint64_t> bytes, time_point deadline) {
    const auto time = bytes ? speed_.time_for(*bytes) : std::nullopt;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
    if (!time || *time <= left) {
        return false;
    }
    report_.missing_time += *time;
    give_up(
        slot.id, fmt::format(
                     "it would take {}, and {} are left", format_duration(*time),
                     format_duration(std::max(left, milliseconds(0)))));
    return true;
}

void slot_saver::give_up(int slot, const std::string& why) {
    log::error("slot {} was not saved: {}", slot, why);
    ++report_.not_saved;
}

} // namespace hibernate::app

#include "llama_hibernate/app/saving.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/llama/state_trailers.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto cut_patience = std::chrono::seconds(2);
const std::string too_slow = "the disk is too slow for the stop budget";

/// Nothing if it cannot be told.
std::optional<llama::state_trailers> read_trailers(disk& disk, const std::filesystem::path& file) {
    const auto reading = llama::read_state_file_head(disk, file);
    return reading.head ? llama::read_state_trailers(disk, file, *reading.head).trailers
                        : std::nullopt;
}

/// None if there are not that many, or one of them is an image's.
std::vector<llama::token>
first_tokens(disk& disk, const std::filesystem::path& file, std::uint64_t count) {
    auto reading = llama::read_state_file_head(disk, file);
    if (!reading.head || reading.head->tokens.size() < count) {
        return {};
    }
    auto tokens = std::move(reading.head->tokens);
    tokens.resize(static_cast<std::size_t>(count));
    const bool has_media =
        std::any_of(tokens.begin(), tokens.end(), [](const llama::token one) { return one < 0; });
    return has_media ? std::vector<llama::token>() : tokens;
}

} // namespace

// What runs on the disk thread may outlast this object, when the deadline comes first: it refers
// only to what outlives that, and copies the rest.

slot_saver::slot_saver(
    llama::client& client,
    disk_thread& disk,
    hibernate::disk& store_disk,
    store::model_directory& directory,
    store::room_keeper& room,
    const child_facts& facts,
    std::set<std::string> in_use,
    std::uint64_t min_tokens,
    keeper::save_speed& speed,
    boundary_policy& boundary,
    history_of history)
    : client_(client), disk_(disk), store_disk_(store_disk), directory_(directory), room_(room),
      facts_(facts), min_tokens_(min_tokens), speed_(speed), boundary_(boundary),
      history_(std::move(history)), now_{
                                        facts.signature, std::move(in_use),
                                        facts.bytes_per_token} {}

awaitable<save_report> slot_saver::save_one(
    keeper::slot_to_save slot, const char* reason, extent how, time_point deadline) {
    const std::function<bool()> never = [] { return false; };
    const bool ready = co_await prepare(deadline);
    if (ready) {
        co_await save(slot, reason, how, deadline, never);
    }
    co_return std::move(report_);
}

/// False, and a log line, where there is no place for a save.
awaitable<bool> slot_saver::prepare(time_point deadline) {
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

awaitable<save_report> slot_saver::run(
    const keeper::slot_table& known,
    time_point deadline,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned) {
    const auto start = clock::now();
    const bool ready = co_await prepare(deadline);
    if (!ready) {
        co_return std::move(report_);
    }
    const auto slots = co_await choose_slots(known, deadline);
    std::size_t number = 0;
    for (const auto& slot : slots) {
        progress(++number, slots.size());
        if (abandoned() || clock::now() >= deadline) {
            ++report_.not_saved;
        } else {
            co_await save(slot, "stop", extent::with_prompt, deadline, abandoned);
        }
    }
    report_.time = std::chrono::duration_cast<milliseconds>(clock::now() - start);
    co_return std::move(report_);
}

/// Which slots to save. GET /slots would wake a child that sleeps, and it has nothing left to save.
awaitable<std::vector<keeper::slot_to_save>>
slot_saver::choose_slots(const keeper::slot_table& known, time_point deadline) {
    const auto props = co_await client_.props(deadline);
    if (props && props->is_sleeping) {
        log::info("llama-server sleeps: its slots are empty");
        co_return std::vector<keeper::slot_to_save>();
    }
    auto slots = co_await client_.slots(deadline);
    if (slots) {
        report_.too_short = keeper::count_too_short(*slots, known, min_tokens_);
        co_return keeper::plan_save(*slots, known, min_tokens_);
    }
    if (slots.failure().status == 0) {
        log::error("llama-server does not say what its slots hold: {}", slots.failure().message);
    }
    co_return keeper::plan_save_blindly(facts_.total_slots);
}

awaitable<void> slot_saver::save(
    keeper::slot_to_save slot,
    const char* reason,
    extent how,
    time_point deadline,
    const std::function<bool()>& abandoned) {
    auto history = history_(slot.id);
    store::staged_save staged;
    staged.slot = slot.id;
    staged.reason = reason;
    staged.was_reused = std::move(history.was_reused);
    staged.prompt_tokens = history.prompt_tokens;
    const auto whole = co_await save_state(slot, std::move(staged), deadline, abandoned);
    if (whole && how == extent::with_prompt && !abandoned()) {
        co_await save_prompt(slot, *whole, deadline, abandoned);
    }
}

/// What is in the slot beyond the prompt is on disk now, so it may be cut off.
awaitable<void> slot_saver::save_prompt(
    keeper::slot_to_save slot,
    const store::publication& whole,
    time_point deadline,
    const std::function<bool()>& abandoned) {
    const auto& saved = whole.published->manifest;
    const auto file = directory_.path() / whole.published->file_name;
    if (boundary_.asks_for_trailers()) {
        const auto look = [&disk = store_disk_, file] { return read_trailers(disk, file); };
        const auto found = co_await disk_.run_until(deadline, look);
        if (!found || !*found) {
            co_return;
        }
        boundary_.learn_trailers(**found);
    }
    const auto cut = boundary_.cut(saved, min_tokens_);
    if (!cut) {
        co_return;
    }
    const auto read = [&disk = store_disk_, file, count = *cut] {
        return first_tokens(disk, file, count);
    };
    auto tokens = co_await disk_.run_until(deadline, read);
    if (!tokens || tokens->empty() || abandoned()) {
        co_return;
    }
    // It should compute a few tokens. One that computes the whole prompt would hold up everybody.
    const auto limit = std::min<time_point>(deadline, clock::now() + cut_patience);
    const auto computed = co_await client_.cut_slot(slot.id, std::move(*tokens), limit);
    const auto cost = computed ? *computed : *cut;
    if (computed) {
        boundary_.learn_cost(cost);
    } else {
        boundary_.give_up(computed.failure().message);
    }
    if (cost > keeper::most_computed_for_boundary) {
        const auto note = [&directory = directory_, id = saved.id, cost] {
            return directory.note_cut(id, cost);
        };
        co_await disk_.run_until(deadline, note);
    }
    if (!computed) {
        co_return;
    }

    store::staged_save staged;
    staged.slot = slot.id;
    staged.reason = saved.reason;
    staged.prompt_tokens = *cut;
    staged.boundary_of = saved.id;
    staged.missed = whole.boundary_missed;
    const keeper::slot_to_save prompt{slot.id, *cut};
    co_await save_state(prompt, std::move(staged), deadline, abandoned);
    const auto slots = co_await client_.slots(deadline);
    if (slots) {
        for (const auto& one : *slots) {
            report_.cut = one.id == slot.id ? one : report_.cut;
        }
    }
}

/// Nothing, and a line that says why, if it is not saved.
awaitable<std::optional<store::publication>> slot_saver::save_state(
    keeper::slot_to_save slot,
    store::staged_save staged,
    time_point deadline,
    const std::function<bool()>& abandoned) {
    std::optional<store::publication> nothing;
    const auto make_room = [&keeper = room_, now = now_, tokens = slot.tokens] {
        return keeper.before_save(now, tokens);
    };
    const auto room = co_await disk_.run_until(deadline, make_room);
    if (!room || !room->enough) {
        give_up(staged, room ? room->problem : too_slow);
        co_return nothing;
    }
    if (abandoned()) { // to make room took its time
        ++report_.not_saved;
        co_return nothing;
    }
    if (comes_too_late(staged, room->estimate, deadline)) {
        co_return nothing;
    }

    staged.staging_name = directory_.new_staging_name();
    staged.signature = facts_.signature;
    staged.model_name = facts_.model_name;
    staged.model_path = facts_.model_path;
    const auto create = [&directory = directory_, name = staged.staging_name] {
        return directory.create_staging(name);
    };
    const auto not_created = co_await disk_.run_until(deadline, create);
    if (!not_created || *not_created) {
        const auto why = not_created ? not_created->message() : too_slow;
        give_up(staged, fmt::format("its file cannot be made: {}", why));
        co_return nothing;
    }
    const auto begun = clock::now();
    const auto saved = co_await client_.save_slot(slot.id, staged.staging_name, deadline);
    if (saved) {
        staged.tokens = saved->tokens < min_tokens_ ? 0 : saved->tokens; // 0: it is thrown away
        staged.bytes = saved->bytes;
        staged.time = saved->time;
        auto outcome = co_await publish(std::move(staged), deadline);
        co_return outcome;
    }
    // Without an answer the child may still be writing it: then the next start removes it.
    if (saved.failure().status == 0) {
        if (clock::now() >= deadline && staged.boundary_of.empty()) {
            note_missing_time(room->estimate, deadline - begun);
        }
        give_up(staged, saved.failure().message);
        co_return nothing;
    }
    const auto clean_up = [&keeper = room_, &directory = directory_, name = staged.staging_name,
                           expected = room->estimate] {
        auto trouble = keeper.find_trouble(expected); // while the file is still there
        directory.discard_staging(name);
        return trouble;
    };
    const auto found = co_await disk_.run_until(deadline, clean_up);
    const auto trouble = found.value_or("");
    constexpr unsigned not_supported = 501;
    if (saved.failure().status == not_supported && trouble.empty()) {
        report_.unsupported = saved.failure().message;
        co_return nothing;
    }
    give_up(
        staged, trouble.empty() ? saved.failure().message
                                : fmt::format("{} ({})", saved.failure().message, trouble));
    co_return nothing;
}

awaitable<std::optional<store::publication>>
slot_saver::publish(store::staged_save staged, time_point deadline) {
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
    auto outcome = co_await disk_.run_until(deadline, work);
    if (!outcome || !outcome->published) {
        if (staged.tokens != 0) {
            give_up(staged, outcome ? outcome->problem : too_slow);
        }
        outcome.reset();
        co_return outcome;
    }
    note(*outcome);
    co_return outcome;
}

void slot_saver::note(const store::publication& outcome) {
    const auto& manifest = outcome.published->manifest;
    const bool whole = manifest.boundary_of.empty();
    speed_.note(manifest.bytes, manifest.save_time);
    boundary_.learn(outcome);
    now_.in_use.insert(manifest.id);
    report_.saved.push_back(
        {manifest.id, manifest.slot, manifest.tokens, manifest.bytes, manifest.save_time});
    report_.superseded_ids.insert(
        report_.superseded_ids.end(), outcome.superseded_ids.begin(), outcome.superseded_ids.end());
    report_.missed += outcome.missed_ids.size();
    report_.conversations += whole ? 1 : 0;
    report_.tokens += whole ? manifest.tokens : 0;
    report_.bytes += manifest.bytes;
    const auto took = std::chrono::duration_cast<milliseconds>(manifest.save_time);
    log::write(
        log::level::info,
        fmt::format(
            "saved {}slot {} ({}): {} tokens, {} in {} (snapshot {})",
            whole ? "" : "the prompt of ", manifest.slot, manifest.reason,
            format_number(manifest.tokens), format_bytes(manifest.bytes), format_duration(took),
            manifest.id),
        {{"slot", manifest.slot},
         {"reason", manifest.reason},
         {"tokens", manifest.tokens},
         {"bytes", manifest.bytes},
         {"save_ms", took},
         {"snapshot", manifest.id}});
    for (const auto& id : outcome.reused_ids) {
        log::debug("snapshot {} had been restored, and was reused", id);
        report_.reused.emplace_back(id, manifest.slot);
    }
    for (const auto& id : outcome.missed_ids) {
        log::info("snapshot {} had been restored, but llama-server computed it again", id);
    }
}

bool slot_saver::comes_too_late(
    const store::staged_save& staged, std::optional<std::uint64_t> bytes, time_point deadline) {
    const auto time = bytes ? speed_.time_for(*bytes) : std::nullopt;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
    if (!time || *time <= left || !speed_.is_measured()) {
        return false;
    }
    report_.missing_time += staged.boundary_of.empty() ? *time : milliseconds(0);
    give_up(
        staged, fmt::format(
                    "it would take {}, and {} are left", format_duration(*time),
                    format_duration(std::max(left, milliseconds(0)))));
    return true;
}

/// Of a save that took longer than there was time. Nothing but that is known if there was none
/// before; then the same again is the least that it needs.
void slot_saver::note_missing_time(
    std::optional<std::uint64_t> bytes, clock::duration time_there_was) {
    const auto had = std::chrono::duration_cast<milliseconds>(time_there_was);
    const auto expected = bytes ? speed_.time_for(*bytes) : std::nullopt;
    const bool told = expected && *expected > had;
    report_.missing_time += told ? *expected - had : had;
    report_.missing_time_is_certain = report_.missing_time_is_certain && told;
}

void slot_saver::give_up(const store::staged_save& staged, const std::string& why) {
    if (!staged.boundary_of.empty()) { // the whole is on disk
        log::warning("the prompt of slot {} was not saved apart: {}", staged.slot, why);
        return;
    }
    log::write(
        log::level::error, fmt::format("slot {} was not saved: {}", staged.slot, why),
        {{"slot", staged.slot}});
    ++report_.not_saved;
}

} // namespace hibernate::app

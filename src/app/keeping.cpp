#include "llama_hibernate/app/keeping.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "llama_hibernate/app/child_learner.hpp"
#include "llama_hibernate/app/read_ahead.hpp"
#include "llama_hibernate/app/store_opening.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/keeper/crash_blame.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

keeping::keeping(
    asio::io_context& context,
    const options& options,
    const llama::server_args& args,
    std::unique_ptr<disk> disk)
    : context_(context), options_(options), args_(args), disk_(std::move(disk)),
      boundary_(options.boundary), background_(context), disk_thread_(context) {}

awaitable<void> keeping::open() {
    auto opened = co_await open_store(*disk_, disk_thread_, options_, args_);
    directory_ = std::move(opened.directory);
    room_ = std::move(opened.room);
    account_ = std::move(opened.account);
    not_saved_ = std::move(opened.not_saved);
    if (!directory_) {
        co_return;
    }
    room_->on_removal([this](const std::string& reason) {
        asio::post(context_, [this, reason] { journal_.note_eviction(reason); });
    });
    const auto read = [this] { return store::read_stop_record(*disk_, directory_->path()); };
    last_stop_ = co_await disk_thread_.run(read);
    look_ = std::make_unique<store_look>(context_, *disk_, directory_->path().parent_path());
}

std::string keeping::save_path() const {
    return directory_ ? directory_->path().string() : std::string();
}

awaitable<void> keeping::prepare() {
    stop_reading_ = true;
    const auto nothing = [] { return true; };
    co_await background_.run(nothing);
    if (look_) {
        co_await look_->hold();
    }
    const auto note = [this] { return note_versions(*disk_, args_); };
    versions_ = co_await disk_thread_.run(note);
}

void keeping::read_ahead() {
    if (look_) {
        look_->release();
        look_->begin();
    }
    if (!directory_ || stopping_) {
        return;
    }
    stop_reading_ = false;
    const auto look = [this] {
        if (!std::exchange(quarantine_reported_, true)) {
            report_quarantine(*directory_);
        }
        if (options_.restore != restore_extent::none) {
            check_ahead(*directory_, stop_reading_);
        }
    };
    disk_thread_.start(look, [] {});
}

awaitable<keeping::restore_outcome> keeping::restore(
    std::shared_ptr<llama::client> client,
    extent what,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned) {
    restore_outcome outcome;
    auto& summary = outcome.summary;
    if (!directory_) {
        summary.kept = false;
        co_return outcome;
    }
    stop_reading_ = true; // the disk thread is wanted
    auto deadline = clock::now() + options_.restore_budget;
    child_learner learner{*client,   disk_thread_,      *disk_, *directory_, args_,
                          versions_, options_.any_build};
    auto facts = co_await learner.learn(abandoned);
    not_saved_ = learner.problem;
    if (!facts || abandoned()) {
        summary.kept = false;
        co_return outcome;
    }
    facts_ = std::move(facts);
    if (options_.restore == restore_extent::none || what == extent::learn_only) {
        summary.wanted = false;
        if (!options_.adopt.empty() && options_.restore == restore_extent::none) {
            log::info("nothing is adopted, because nothing is restored");
        }
        co_return outcome;
    }
    const auto look = [this] { return directory_->snapshots(); };
    auto snapshots = co_await disk_thread_.run(look);
    speed_.remember(snapshots);
    boundary_.begin_with(facts_->memory, facts_->uses_draft_model, snapshots, facts_->signature);
    if (keeper::are_never_reused(snapshots)) {
        begin_look_for_reuse();
    }
    if (!options_.adopt.empty() && !std::exchange(has_adopted_, true) && !abandoned()) {
        const auto begun = clock::now();
        const auto adoption = co_await adopt(client, abandoned);
        deadline += clock::now() - begun;
        summary.adopted = adoption.adopted;
        outcome.child = adoption.child;
        if (adoption.child != child_state::well) {
            co_return outcome;
        }
        snapshots = co_await disk_thread_.run(look);
    }
    if (abandoned()) {
        co_return outcome;
    }
    const bool shared_pool = args_.stream_count(facts_->total_slots) == 1;
    auto plan = keeper::plan_restore(
        std::move(snapshots), facts_->signature,
        {facts_->total_slots, facts_->context_size, shared_pool});
    const auto why_skipped = keeper::describe_skipped(plan);
    summary.skipped = plan.skipped.size();
    summary.skipped_brief = keeper::describe_skipped_briefly(plan);
    if (summary.skipped != 0) {
        log::write(
            log::level::warning, why_skipped,
            {{"skipped", summary.skipped}, {"bytes", keeper::skipped_bytes(plan)}});
    }
    slot_restorer::preload first;
    const bool alone = facts_->total_slots == 1 && args_.ram_cache != 0;
    if (options_.restore == restore_extent::all && (alone || args_.empties_idle_slots())) {
        first.snapshots = keeper::plan_preload(plan, preload_bytes());
        first.other_slot = alone ? std::nullopt : std::optional(facts_->total_slots - 1);
    }
    if (plan.spares.size() > first.snapshots.size()) {
        log::info(
            "{} more than there is room for: the latest are restored",
            format_count(plan.spares.size() - first.snapshots.size(), "snapshot", "snapshots"));
    }
    const auto planned = plan.steps.size() + first.snapshots.size();
    const auto offered = [this](const std::string& id) { offered_id_ = id; };
    restore_watch watch{progress, offered, abandoned};
    slot_restorer restorer(*client, disk_thread_, *directory_, stop_reading_, std::move(watch));
    auto report = co_await restorer.run(std::move(first), std::move(plan), deadline);
    journal_.note_restore(report, planned, summary.skipped, why_skipped);
    restored_ids_.clear();
    for (const auto& one : report.restored) {
        restored_ids_.push_back(one.id);
    }
    in_use_ = {restored_ids_.begin(), restored_ids_.end()};
    reuse_.begin_with(restored_ids_, report.in_slots);
    outcome.child = report.child;
    summary.conversations = restored_ids_.size();
    summary.tokens = report.tokens;
    summary.time = report.time;
    summary.left_out = report.left_out;
    if (report.left_out != 0 && !abandoned()) {
        log::warning(
            "not restored: {} of {}", report.left_out,
            format_count(planned, "snapshot", "snapshots"));
    }
    co_return outcome;
}

awaitable<bool> keeping::blame_last_restore() {
    const auto file = std::exchange(offered_file_, {});
    if (directory_ && facts_ && !file.empty()) {
        const auto note = [this, file, signature = facts_->signature] {
            note_fatal_file(*disk_, directory_->path(), signature, file);
            return true;
        };
        co_await disk_thread_.run(note);
        co_return true;
    }
    const auto id = std::exchange(offered_id_, {});
    if (!directory_ || id.empty()) {
        co_return false;
    }
    const auto work = [this, id] {
        directory_->quarantine(id, "llama-server died while it was restored");
        return true;
    };
    co_await disk_thread_.run(work);
    co_return false;
}

awaitable<void> keeping::suspect_restored(bool answered_anything) {
    if (!directory_ || in_use_.empty()) {
        co_return;
    }
    const auto work = [this, answered_anything, ids = in_use_] {
        for (const auto& id : ids) {
            const auto crashes = directory_->note_crash(id);
            if (keeper::condemns({ids.size(), crashes, answered_anything})) {
                directory_->quarantine(
                    id, fmt::format(
                            "llama-server crashed after it was restored, {}",
                            crashes < 2 ? "at its first request"
                                        : fmt::format("{} times in a row", crashes)));
            }
        }
        return true;
    };
    co_await disk_thread_.run(work);
}

void keeping::begin_look_for_reuse() {
    const auto memory = facts_ ? facts_->memory : llama::context_memory::everything;
    const auto look = [this, memory] {
        reuse_reported_ =
            reuse_reported_ ||
            warn_if_never_reused(*disk_, directory_->path(), directory_->snapshots(), memory);
    };
    background_.start(look, [] {});
}

std::uint64_t keeping::preload_bytes() const {
    const auto memory = options_.restore_memory.value_or(memory_for_snapshots());
    return std::min(args_.ram_cache.value_or(memory), memory);
}

void keeping::begin_serving(const std::shared_ptr<llama::client>& client) {
    tidy();
    if (!directory_ || !facts_) {
        return;
    }
    live_saving::settings how;
    how.triggers.idle = options_.idle_save;
    how.triggers.min_tokens = options_.min_tokens;
    how.slots = static_cast<std::size_t>(std::max(facts_->total_slots, 1));
    how.slots_empty_each_other = args_.empties_idle_slots();
    how.sleep_after = args_.sleep_after;
    if (args_.sleep_after) { // half of it is left for the save
        const milliseconds early = *args_.sleep_after / 2;
        how.triggers.idle = options_.idle_save == 0ms ? early : std::min(options_.idle_save, early);
    }
    how.may_write = [this] { return may_write(); };
    const auto save = [this, client](live_saving::due_save what) {
        return save_live(client, std::move(what));
    };
    const auto restore_all = [this, client] { return restore_after_sleep(client); };
    live_ = std::make_unique<live_saving>(context_, client, std::move(how), save, restore_all);
}

awaitable<void> keeping::restore_after_sleep(std::shared_ptr<llama::client> client) {
    log::info("llama-server slept, and forgot; its conversations are restored");
    const std::function<void(std::size_t, std::size_t)> nobody = [](std::size_t, std::size_t) {};
    const std::function<bool()> abandoned = [this] { return stopping_.load(); };
    journal_.forget_child();
    const auto outcome = co_await restore(client, extent::restore, nobody, abandoned);
    offered_id_.clear();
    const auto note = [this, ids = std::exchange(restored_ids_, {})] { note_restored(ids); };
    background_.start(note, [] {});
    if (outcome.child == child_state::well) {
        log::info("after a sleep: {}", app::describe(outcome.summary));
    } else {
        log::error("after a sleep llama-server took a snapshot badly; see above");
    }
}

awaitable<void> keeping::before_request(std::string_view body_start) {
    if (live_) {
        co_await live_->before_request(body_start);
    }
}

awaitable<void> keeping::before_other_request() {
    if (live_) {
        co_await live_->before_other_request();
    }
}

void keeping::after_request(keeper::ended_request ended) {
    journal_.note_request(ended.receipt, args_.empties_idle_slots());
    if (live_) {
        live_->after_request(std::move(ended));
    }
}

awaitable<void> keeping::before_action(slot_action asked) {
    if (live_) {
        co_await live_->before_action(asked);
    }
}

void keeping::after_action(bool client_left) {
    if (live_) {
        live_->after_action(client_left);
    }
}

std::optional<int> keeping::slot_count() const {
    return facts_ ? std::optional(facts_->total_slots) : std::nullopt;
}

void keeping::forget_child() {
    journal_.forget_child();
    live_.reset();
    facts_.reset();
    in_use_.clear();
    just_saved_.clear();
}

void keeping::tidy() {
    offered_id_.clear();
    offered_file_.clear();
    if (!directory_ || !facts_) {
        return;
    }
    const auto catch_up = [this, restored = std::exchange(restored_ids_, {})] {
        note_restored(restored);
        for (const auto& one : directory_->snapshots()) {
            if (!one.manifest.synced && !stopping_) {
                make_durable(one.manifest.id);
            }
        }
    };
    store::room_keeper::present now{facts_->signature, in_use_, {}};
    const auto keep_bound = [this, now = std::move(now)] {
        if (!stopping_) {
            room_->tidy(now);
        }
    };
    // To sync may take long, and a stop must not wait for it with its saves.
    background_.start(catch_up, [this, keep_bound] { disk_thread_.start(keep_bound, [] {}); });
}

void keeping::note_restored(const std::vector<std::string>& ids) {
    const auto now = store::wall_now();
    for (const auto& id : ids) {
        if (const auto ec = directory_->note_restored(id, now); ec) {
            log::warning("snapshot {}: its restore was not noted: {}", id, ec.message());
        }
    }
}

} // namespace hibernate::app

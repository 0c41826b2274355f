#include "llama_hibernate/app/keeping.hpp"

#include <fmt/format.h>

#include "llama_hibernate/app/restoring.hpp"
#include "llama_hibernate/app/saving.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/llama/model_identity.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto lock_pause = 50ms;
constexpr auto props_pause = 25ms;
// Without its facts nothing can be saved either, so this is no part of the restore budget.
constexpr auto props_patience = 10s;

/// What the model's folder is named after: its whole path, however the user wrote it, or the name
/// of what is to be downloaded.
std::string full_model_name(const llama::server_args& args) {
    if (args.model_path.empty()) {
        return args.model;
    }
    std::error_code ignored;
    const auto path = std::filesystem::absolute(args.model_path, ignored);
    return path.empty() ? args.model : path.lexically_normal().string();
}

std::string conversations(std::size_t count) {
    return fmt::format("{} {}", count, count == 1 ? "conversation" : "conversations");
}

} // namespace

keeping::keeping(asio::io_context& context, const options& options, const llama::server_args& args)
    : context_(context), options_(options), args_(args), disk_(make_real_disk()),
      background_(context), disk_thread_(context) {}

asio::awaitable<void> keeping::open() {
    if (args_.model.empty()) {
        log::warning(
            "no model is named, so llama-server is a router: conversations are served, but "
            "neither saved nor restored");
        co_return;
    }
    const auto root =
        args_.slot_save_path.empty() ? options_.root : std::filesystem::path(args_.slot_save_path);
    if (root.empty()) {
        throw startup_error(
            "There is no place for the conversations, because neither CACHE_DIRECTORY nor "
            "XDG_CACHE_HOME nor HOME is set; name one with --hibernate-dir.",
            exit_status::usage);
    }
    const auto name = store::directory_name(full_model_name(args_), options_.name);
    const auto path = (root / name).string();
    const auto deadline = clock::now() + options_.restore_budget;
    bool told = false;
    for (;;) {
        const auto try_open = [this, root, name] {
            return store::model_directory::open(*disk_, root, name);
        };
        auto opened = co_await disk_thread_.run(try_open);
        if (opened) {
            directory_ = std::move(*opened);
            co_return;
        }
        const bool locked = opened.error() == boost::system::errc::resource_unavailable_try_again;
        if (!locked || clock::now() >= deadline) {
            log::error(
                "conversations are served, but neither saved nor restored: {}: {}", path,
                locked ? "another llama-hibernate uses it" : opened.error().message());
            co_return;
        }
        if (!told) {
            log::info("another llama-hibernate still uses {}; waiting for it", path);
            told = true;
        }
        co_await pause(lock_pause);
    }
}

std::string keeping::save_path() const {
    return directory_ ? directory_->path().string() : std::string();
}

asio::awaitable<std::optional<child_facts>>
keeping::learn_facts(llama::client& client, const std::function<bool()>& abandoned) {
    const auto deadline = clock::now() + props_patience;
    for (;;) {
        // A build may answer /health before it answers /props.
        auto props = co_await client.props(deadline);
        if (props) {
            const std::filesystem::path model = props->model_path;
            const auto identify = [this, model] { return llama::identify_model(*disk_, model); };
            auto identity = co_await disk_thread_.run(identify);
            if (identity) {
                co_return describe_child(args_, *props, *identity);
            }
            log::error(
                "conversations are neither saved nor restored: cannot read the model {}: {}",
                model.string(), identity.error().message());
            co_return std::nullopt;
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

asio::awaitable<std::string> keeping::restore(
    std::shared_ptr<llama::client> client,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned) {
    const std::string nothing = "nothing to restore";
    if (!directory_) {
        co_return nothing;
    }
    const auto deadline = clock::now() + options_.restore_budget;
    auto facts = co_await learn_facts(*client, abandoned);
    if (!facts || abandoned()) {
        co_return nothing;
    }
    facts_ = std::move(facts);
    if (!options_.restore) {
        co_return nothing;
    }
    const auto look = [this] { return directory_->snapshots(); };
    auto snapshots = co_await disk_thread_.run(look);
    if (abandoned()) {
        co_return nothing;
    }
    const auto plan = keeper::plan_restore(
        std::move(snapshots), facts_->signature, {facts_->total_slots, facts_->context_size});
    if (const auto skipped = keeper::describe_skipped(plan); !skipped.empty()) {
        log::warning("{}", skipped);
    }
    auto report = co_await restore_slots(*client, plan, deadline, progress, abandoned);
    restored_ids_ = std::move(report.restored_ids);
    if (report.left_out != 0 && !abandoned()) {
        log::warning("{} of {} snapshots were not restored", report.left_out, plan.steps.size());
    }
    if (restored_ids_.empty()) {
        co_return nothing;
    }
    co_return fmt::format(
        "{}, {} tokens restored ({})", conversations(restored_ids_.size()), report.tokens,
        format_duration(report.time));
}

void keeping::tidy() {
    if (!directory_ || !facts_) {
        return;
    }
    const auto work = [this, facts = *facts_, restored = std::exchange(restored_ids_, {})] {
        note_restored(restored);
        for (const auto& one : directory_->snapshots()) {
            if (!one.manifest.synced && !stopping_) {
                make_durable(one.manifest.id);
            }
        }
        if (!stopping_) {
            remove_surplus(facts);
        }
    };
    // It may take long, and a stop must not wait for it with its saves.
    background_.start(work, [] {});
}

asio::awaitable<void> keeping::save(
    std::shared_ptr<llama::client> client, time_point deadline, std::function<bool()> abandoned) {
    if (!directory_ || !facts_) {
        co_return;
    }
    auto report =
        co_await save_slots(*client, disk_thread_, *directory_, *facts_, deadline, abandoned);
    saved_ids_ = std::move(report.saved_ids);
    log::info(
        "saved {}, {} tokens, {} in {}", conversations(saved_ids_.size()), report.tokens,
        format_bytes(report.bytes), format_duration(report.time));
    if (report.not_saved != 0) {
        log::error(
            "{} slots were not saved: {}", report.not_saved,
            abandoned() ? "a second signal cut it short" : "see above");
    }
}

asio::awaitable<void> keeping::finish(time_point deadline) {
    if (saved_ids_.empty() || !facts_) {
        co_return;
    }
    const auto sync = [this, facts = *facts_, ids = saved_ids_] {
        for (const auto& id : ids) {
            make_durable(id);
        }
        remove_surplus(facts);
        return true;
    };
    const auto done = co_await disk_thread_.run_until(deadline, sync);
    if (!done) {
        log::warning("the stop budget is over before all snapshots were synced to the disk");
    }
}

void keeping::note_restored(const std::vector<std::string>& ids) {
    for (const auto& id : ids) {
        if (const auto ec = directory_->note_restored(id, store::wall_now()); ec) {
            log::warning("snapshot {}: its restore was not noted: {}", id, ec.message());
        }
    }
}

void keeping::make_durable(const std::string& id) {
    if (const auto ec = directory_->make_durable(id); ec) {
        log::warning("snapshot {} is not safe from a power cut: {}", id, ec.message());
    }
}

void keeping::remove_surplus(const child_facts& facts) {
    for (const auto& id :
         keeper::surplus_snapshots(directory_->snapshots(), facts.signature, facts.total_slots)) {
        log::info("removing snapshot {}: more recent ones fill every slot", id);
        if (const auto ec = directory_->remove(id); ec) {
            log::warning("snapshot {} was not removed: {}", id, ec.message());
        }
    }
}

} // namespace hibernate::app

#include "llama_hibernate/app/saving.hpp"

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// Which slots to save. GET /slots would wake a child that sleeps, and it has nothing left to save.
asio::awaitable<std::vector<int>>
choose_slots(llama::client& client, const child_facts& facts, clock::time_point deadline) {
    const auto props = co_await client.props(deadline);
    if (props && props->is_sleeping) {
        log::info("llama-server sleeps: its slots are empty");
        co_return std::vector<int>();
    }
    const auto slots = co_await client.slots(deadline);
    if (slots) {
        co_return keeper::plan_save(*slots);
    }
    if (slots.failure().status == 0) {
        log::error("llama-server does not say what its slots hold: {}", slots.failure().message);
    }
    co_return keeper::plan_save_blindly(facts.total_slots);
}

} // namespace

asio::awaitable<save_report> save_slots(
    llama::client& client,
    disk_thread& disk,
    store::model_directory& directory,
    const child_facts& facts,
    clock::time_point deadline,
    std::function<bool()> abandoned) {
    save_report report;
    const auto start = clock::now();
    const auto prepare = [&directory] { return directory.recreate_if_removed(); };
    const auto problem = co_await disk.run_until(deadline, prepare);
    if (!problem || *problem) {
        log::error(
            "nothing is saved: {}: {}", directory.path().string(),
            problem ? problem->message() : "the disk is too slow for the stop budget");
        co_return report;
    }
    const auto slots = co_await choose_slots(client, facts, deadline);

    for (const int slot : slots) {
        if (abandoned() || clock::now() >= deadline) {
            ++report.not_saved;
            continue;
        }
        store::staged_save staged;
        staged.staging_name = directory.new_staging_name();
        staged.slot = slot;
        staged.reason = "stop";
        staged.signature = facts.signature;
        staged.model_name = facts.model_name;

        auto saved = co_await client.save_slot(slot, staged.staging_name, deadline);
        if (!saved) {
            // Without an answer the child may still be writing it: then the next start removes it.
            if (saved.failure().status != 0) {
                const auto discard = [&directory, name = staged.staging_name] {
                    directory.discard_staging(name);
                    return true;
                };
                co_await disk.run_until(deadline, discard);
            }
            log::error("slot {} was not saved: {}", slot, saved.failure().message);
            ++report.not_saved;
            continue;
        }
        staged.tokens = saved->tokens;
        staged.bytes = saved->bytes;
        const auto publish = [&directory, staged] {
            return directory.publish(staged, store::wall_now());
        };
        const auto outcome = co_await disk.run_until(deadline, publish);
        if (!outcome) {
            log::error("slot {} was not saved: the disk is too slow for the stop budget", slot);
            ++report.not_saved;
            continue;
        }
        if (outcome->published) {
            const auto& manifest = outcome->published->manifest;
            report.saved_ids.push_back(manifest.id);
            report.tokens += manifest.tokens;
            report.bytes += manifest.bytes;
            log::info(
                "saved slot {}: {} tokens, {} in {} (snapshot {})", slot, manifest.tokens,
                format_bytes(manifest.bytes),
                format_duration(std::chrono::duration_cast<milliseconds>(saved->time)),
                manifest.id);
        } else if (staged.tokens != 0) {
            log::error("slot {} was not saved: {}", slot, outcome->problem);
            ++report.not_saved;
        }
    }

    report.time = std::chrono::duration_cast<milliseconds>(clock::now() - start);
    co_return report;
}

} // namespace hibernate::app

#include "llama_hibernate/app/restoring.hpp"

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

asio::awaitable<restore_report> restore_slots(
    llama::client& client,
    const keeper::restore_plan& plan,
    clock::time_point deadline,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned) {
    restore_report report;
    const auto start = clock::now();

    for (const auto& step : plan.steps) {
        if (abandoned() || clock::now() >= deadline) {
            break;
        }
        const auto& manifest = step.snapshot.manifest;
        progress(static_cast<std::size_t>(&step - plan.steps.data()) + 1, plan.steps.size());
        auto result = co_await client.restore_slot(step.slot, step.snapshot.file_name, deadline);
        if (abandoned()) {
            break;
        }
        if (!result) {
            log::warning(
                "snapshot {} ({} tokens) was not restored into slot {}: {}", manifest.id,
                manifest.tokens, step.slot, result.failure().message);
            continue;
        }
        if (result->tokens != manifest.tokens) {
            log::warning(
                "snapshot {} has {} tokens, but llama-server restored {} into slot {}", manifest.id,
                manifest.tokens, result->tokens, step.slot);
        }
        report.restored_ids.push_back(manifest.id);
        report.tokens += result->tokens;
        log::info(
            "restored slot {}: {} tokens, {} in {} (snapshot {})", step.slot, result->tokens,
            format_bytes(manifest.bytes),
            format_duration(std::chrono::duration_cast<milliseconds>(result->time)), manifest.id);
    }
    report.left_out = plan.steps.size() - report.restored_ids.size();
    report.time = std::chrono::duration_cast<milliseconds>(clock::now() - start);
    co_return report;
}

} // namespace hibernate::app

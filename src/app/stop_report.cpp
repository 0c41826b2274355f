#include "llama_hibernate/app/stop_report.hpp"

#include <fmt/format.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

using namespace std::chrono_literals;

namespace {

constexpr int spare_seconds = 2; // between our stop budget and the parent's patience

} // namespace

void report_stop(const save_report& report, const options& options, bool cut_short) {
    if (report.too_short != 0) {
        log::info(
            "not kept: {} of fewer than {} tokens (--hibernate-min-tokens)",
            format_count(report.too_short, "conversation", "conversations"),
            format_number(options.min_tokens));
    }
    if (report.saved.empty() && report.not_saved == 0) {
        log::info("nothing new to save");
        return;
    }
    log::write(
        log::level::info,
        fmt::format(
            "saved {}, {} tokens, {} in {}",
            format_count(report.conversations, "conversation", "conversations"),
            format_number(report.tokens), format_bytes(report.bytes), format_duration(report.time)),
        {{"conversations", report.conversations},
         {"tokens", report.tokens},
         {"bytes", report.bytes},
         {"save_ms", report.time},
         {"not_saved", report.not_saved}});
    if (report.not_saved != 0) {
        log::error(
            "not saved: {}: {}", format_count(report.not_saved, "slot", "slots"),
            cut_short ? "a second signal cut it short" : "see above");
        if (report.missing_time > 0ms) {
            const auto budget =
                std::chrono::ceil<std::chrono::seconds>(options.stop_budget + report.missing_time);
            log::error(
                "--hibernate-stop-budget {}s, and an unloadTimeout of {} in llama-swap, {}",
                budget.count(), budget.count() + spare_seconds,
                report.missing_time_is_certain ? "would have sufficed"
                                               : "is the least that it needs");
        }
    }
}

store::stop_record record_stop(const save_report& report, store::wall_time now, bool cut_short) {
    store::stop_record record;
    record.ended = now;
    record.conversations = report.conversations;
    record.tokens = report.tokens;
    record.bytes = report.bytes;
    record.time = report.time;
    record.not_saved = report.not_saved;
    record.missing_time = report.missing_time;
    record.cut_short = cut_short;
    return record;
}

} // namespace hibernate::app

#include "llama_hibernate/app/start_report.hpp"

#include <fmt/format.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

std::string describe(const restore_summary& what) {
    if (!what.kept) {
        return "nothing is saved or restored";
    }
    if (!what.wanted) {
        return "nothing is restored";
    }
    std::string text = "nothing to restore";
    if (what.conversations != 0) {
        text = fmt::format(
            "{}, {} tokens restored ({})",
            format_count(what.conversations, "conversation", "conversations"),
            format_number(what.tokens), format_duration(what.time));
        text += what.left_out == 0 ? "" : fmt::format(", {} not restored", what.left_out);
    } else if (what.left_out != 0) {
        text = fmt::format(
            "none of {} restored", format_count(what.left_out, "snapshot", "snapshots"));
    }
    if (what.adopted != 0) {
        text += ", " + format_count(what.adopted, "file", "files") + " adopted";
    }
    if (!what.skipped_brief.empty()) {
        text += ", " + what.skipped_brief;
    }
    return text;
}

void report_start(const restore_summary& what, std::chrono::milliseconds took) {
    log::write(
        log::level::info, fmt::format("ready in {}: {}", format_duration(took), describe(what)),
        {{"ready_ms", took},
         {"conversations", what.conversations},
         {"tokens", what.tokens},
         {"restore_ms", what.time},
         {"adopted", what.adopted},
         {"not_restored", what.left_out},
         {"skipped", what.skipped}});
}

} // namespace hibernate::app

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
    auto text = what.conversations == 0
                    ? std::string(what.left_out == 0 ? "nothing to restore" : "nothing is restored")
                    : fmt::format(
                          "{}, {} tokens restored ({})",
                          format_count(what.conversations, "conversation", "conversations"),
                          format_number(what.tokens), format_duration(what.time));
    if (what.left_out != 0) {
        text += fmt::format(", {} not restored", what.left_out);
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
         {"not_restored", what.left_out},
         {"skipped", what.skipped}});
}

} // namespace hibernate::app

#include "llama_hibernate/keeper/save_triggers.hpp"

#include <algorithm>

namespace hibernate::keeper {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

namespace {

trigger_answer
save_or_wait(const slot_state& slot, const char* reason, time_point due, time_point now) {
    if (now >= due) {
        return {due_save{slot, reason}, std::nullopt};
    }
    return {std::nullopt, due};
}

} // namespace

trigger_answer next_save(
    const slot_table& slots,
    const traffic& requests,
    const trigger_settings& settings,
    time_point now) {
    const auto unsaved = slots.unsaved(settings.min_tokens);
    if (unsaved.empty()) {
        return {};
    }
    const auto oldest =
        *std::min_element(unsaved.begin(), unsaved.end(), [](const auto& a, const auto& b) {
            return a.changed_at < b.changed_at;
        });
    if (requests.in_flight != 0) {
        return save_or_wait(oldest, "stale", oldest.changed_at + settings.stale, now);
    }
    const auto& most = unsaved.front();
    if (most.tokens >= most.saved_tokens + settings.growth_tokens) {
        return {due_save{most, "growth"}, std::nullopt};
    }
    if (settings.idle == 0ms) {
        return {};
    }
    return save_or_wait(most, "idle", requests.quiet_since + settings.idle, now);
}

} // namespace hibernate::keeper

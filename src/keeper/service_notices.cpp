#include "llama_hibernate/keeper/service_notices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::keeper {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

// Several times the pause between two messages: a machine that is busy may delay them.
constexpr milliseconds extension = 60s;
constexpr milliseconds extension_pause = 10s;
constexpr milliseconds stop_slack = 5s; // beyond our budget, for the process to end
constexpr milliseconds retry_pause = 1s;

template <typename Number>
std::optional<Number> number(const std::string& text) {
    Number value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

std::string with_detail(std::string_view what, std::string_view separator, std::string_view more) {
    // A line break would begin another assignment.
    return more.empty() ? std::string(what)
                        : fmt::format("{}{}{}", what, separator, printable_text(more));
}

} // namespace

std::string describe(const service_condition& now) {
    switch (now.phase) {
    case phase::loading:
        return "loading";
    case phase::restoring:
        return with_detail("restoring", " ", now.detail);
    case phase::ready:
        return with_detail("ready", ": ", now.detail);
    case phase::draining:
        return "stopping: requests in flight may end";
    case phase::saving:
        return with_detail("saving", " ", now.detail);
    case phase::stopping:
        return "stopping";
    case phase::waiting:
    case phase::replacing:
        return "llama-server is started again";
    case phase::finished:
        return "ended";
    }
    return {};
}

std::string service_notices::message(const service_condition& now) const {
    std::string lines;
    const auto add = [&lines](std::string_view line) {
        lines += lines.empty() ? "" : "\n";
        lines += line;
    };
    const bool ready = now.phase == phase::ready;
    if (ready && !ready_told_) {
        add("READY=1");
    }
    if (now.stopping && !stopping_told_) {
        add("STOPPING=1");
    }
    if (const auto status = describe(now); status != status_told_) {
        add("STATUS=" + status);
    }
    // Afterwards it would extend the time that a service may run at all.
    const bool starting = !ready && !ready_told_ && !now.stopping;
    const bool may_stop = now.stopping && now.stop_time_left > 0ms;
    if (starting || may_stop) {
        const microseconds more = starting ? extension : now.stop_time_left + stop_slack;
        add(fmt::format("EXTEND_TIMEOUT_USEC={}", more.count()));
    }
    if (watchdog_) {
        add("WATCHDOG=1");
    }
    return lines;
}

void service_notices::delivered(const service_condition& now) {
    ready_told_ = ready_told_ || now.phase == phase::ready;
    stopping_told_ = stopping_told_ || now.stopping;
    status_told_ = describe(now);
}

std::optional<milliseconds> service_notices::interval(const service_condition& now) const {
    std::optional<milliseconds> soonest;
    const auto after = [&soonest](milliseconds time) {
        soonest = std::min(soonest.value_or(time), time);
    };
    if (watchdog_) {
        after(std::max(std::chrono::duration_cast<milliseconds>(*watchdog_ / 2), 1ms));
    }
    const bool undelivered = (now.phase == phase::ready && !ready_told_) ||
                             (now.stopping && !stopping_told_) || describe(now) != status_told_;
    if (undelivered) {
        after(retry_pause);
    }
    if (now.stopping || !ready_told_) {
        after(extension_pause);
    }
    return soonest;
}

std::optional<microseconds>
watchdog_time(const std::string& usec, const std::string& pid, int own_pid) {
    const auto time = number<std::int64_t>(usec);
    const bool is_ours = pid.empty() || number<int>(pid) == own_pid;
    return time && *time > 0 && is_ours ? std::optional(microseconds(*time)) : std::nullopt;
}

} // namespace hibernate::keeper

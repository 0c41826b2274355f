#include "llama_hibernate/admin/metrics.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace hibernate::admin {

namespace {

constexpr std::string_view prefix = "llama_hibernate_";

constexpr std::array states{"loading",  "restoring", "ready",     "draining", "saving",
                            "stopping", "waiting",   "replacing", "finished"};
constexpr std::array restore_results{"restored", "not_restored", "skipped"};
constexpr std::array save_reasons{"idle", "growth", "stale", "handover", "stop", "adopt"};
constexpr std::array save_results{"saved", "failed"};
constexpr std::array eviction_reasons{"leftover",  "unusable", "model_gone",  "other_signature",
                                      "continued", "retired",  "least_recent"};

std::string escaped(std::string_view value) {
    std::string text;
    for (const char byte : value) {
        if (byte == '\n') {
            text += "\\n";
            continue;
        }
        if (byte == '\\' || byte == '"') {
            text += '\\';
        }
        text += byte;
    }
    return text;
}

std::string label(std::string_view name, std::string_view value) {
    return fmt::format("{}=\"{}\"", name, escaped(value));
}

/// 0 where it was never counted.
template <typename Map>
std::uint64_t count_of(const Map& counts, const typename Map::key_type& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
}

/// Writes one family after the other; help has neither line breaks nor backslashes.
class exposition {
public:
    void begin(const char* name, const char* type, const char* help) {
        name_ = std::string(prefix) + name;
        text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name_, help, type);
    }

    template <typename Number>
    void add(Number value, const std::string& labels = "") {
        add_as("", value, labels);
    }

    void counter(const char* name, const char* help, std::uint64_t value) {
        begin(name, "counter", help);
        add(value);
    }

    template <typename Number>
    void gauge(const char* name, const char* help, Number value) {
        begin(name, "gauge", help);
        add(value);
    }

    void histogram(const char* name, const char* help, const admin::histogram& values) {
        begin(name, "histogram", help);
        const auto bounds = values.bounds();
        for (std::size_t i = 0; i < bounds.size(); ++i) {
            add_as("_bucket", values.count_up_to(i), fmt::format("le=\"{}\"", bounds[i]));
        }
        const auto all = values.count_up_to(bounds.size());
        add_as("_bucket", all, "le=\"+Inf\"");
        add_as("_sum", values.sum(), "");
        add_as("_count", all, "");
    }

    std::string take() { return std::move(text_); }

private:
    template <typename Number>
    void add_as(const char* suffix, Number value, const std::string& labels) {
        text_ += labels.empty() ? fmt::format("{}{} {}\n", name_, suffix, value)
                                : fmt::format("{}{}{{{}}} {}\n", name_, suffix, labels, value);
    }

    std::string name_;
    std::string text_;
};

void write_daemon(exposition& to, const overview& what) {
    to.begin("build_info", "gauge", "The version of llama-hibernate.");
    to.add(1, label("version", what.version));
    to.begin("state", "gauge", "1 for the state that the daemon is in.");
    for (const auto* state : states) {
        to.add(what.state == state ? 1 : 0, label("state", state));
    }
    to.gauge("child_up", "Whether a llama-server runs.", what.child ? 1 : 0);
    const auto started =
        std::chrono::duration_cast<std::chrono::seconds>(what.started.time_since_epoch());
    to.gauge("start_time_seconds", "When the daemon was started, since 1970.", started.count());
}

void write_conversations(exposition& to, const tallies& counts) {
    to.begin(
        "restores_total", "counter",
        "Snapshots restored, planned but not restored, and skipped because they were made for "
        "another build or other arguments.");
    for (const auto* result : restore_results) {
        to.add(count_of(counts.restores, result), label("result", result));
    }
    to.histogram(
        "restore_duration_seconds", "How long the restore of one snapshot took.",
        counts.restore_seconds);
    to.counter(
        "restored_tokens_total", "Tokens read into llama-server from snapshots.",
        counts.restored_tokens);
    to.counter(
        "restored_tokens_reused_total",
        "Of those, the tokens that a prompt then found; known when the conversation is saved "
        "again.",
        counts.restored_tokens_reused);
    to.begin("saves_total", "counter", "Files saved, and slots that could not be.");
    for (const auto* reason : save_reasons) {
        for (const auto* result : save_results) {
            to.add(
                count_of(counts.saves, {reason, result}),
                label("reason", reason) + "," + label("result", result));
        }
    }
    to.counter("saved_bytes_total", "Bytes of the files saved.", counts.saved_bytes);
    to.histogram(
        "save_duration_seconds", "How long llama-server took to save one slot.",
        counts.save_seconds);
    to.counter(
        "reused_tokens_total",
        "Prompt tokens that llama-server found in its cache, whoever had kept them there.",
        counts.prompt_tokens_reused);
    to.counter(
        "computed_tokens_total", "Prompt tokens that llama-server computed.",
        counts.prompt_tokens_computed);
    to.begin(
        "prefill_seconds_saved_total", "counter",
        "What it would have taken to compute the restored tokens that were reused, at the measured "
        "time for a token.");
    to.add(counts.prefill_seconds_saved);
}

void write_requests(exposition& to, const tallies& counts, const traffic& now) {
    to.begin("requests_total", "counter", "Requests answered, by the class of the status.");
    for (std::size_t digit = 1; digit < counts.responses.size(); ++digit) {
        to.add(counts.responses[digit], label("code", fmt::format("{}xx", digit)));
    }
    to.counter(
        "upstream_errors_total",
        "Requests that llama-server could not be reached for, or broke off.",
        counts.upstream_errors);
    to.histogram(
        "gate_wait_seconds",
        "How long a request that may need a slot waited here before it went to llama-server.",
        counts.gate_wait_seconds);
    to.gauge("connections", "Connections of clients.", now.connections);
    to.gauge(
        "requests_in_flight", "Requests under way, those for this page excluded.", now.in_flight);
}

void write_store(exposition& to, const overview& what, const tallies& counts) {
    if (what.store) {
        to.gauge("store_bytes", "Bytes in the store, of all models.", what.store->bytes);
        to.gauge("store_bound_bytes", "The most that the store may hold.", what.store->bound);
        to.gauge("snapshots", "Snapshots of this model.", what.store->of_model.size());
    }
    to.begin("evictions_total", "counter", "What was removed to make room, by the reason.");
    for (const auto* reason : eviction_reasons) {
        to.add(count_of(counts.evictions, reason), label("reason", reason));
    }
}

} // namespace

std::string metrics_as_text(const overview& what, const tallies& counts, const traffic& now) {
    exposition text;
    write_daemon(text, what);
    write_conversations(text, counts);
    write_requests(text, counts, now);
    write_store(text, what, counts);
    return text.take();
}

} // namespace hibernate::admin

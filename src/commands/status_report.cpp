#include "llama_hibernate/commands/status_report.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/commands/listing.hpp"
#include "llama_hibernate/commands/table.hpp"

namespace hibernate::commands {

using nlohmann::json;

namespace {

constexpr std::size_t shown_events = 8;

json field(const json& object, const char* name) {
    return object.is_object() ? object.value(name, json()) : json();
}

std::string text(const json& object, const char* name) {
    const auto value = field(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// 0 for what is no whole number.
std::uint64_t count(const json& object, const char* name) {
    const auto value = field(object, name);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::string count_or_dash(const json& object, const char* name) {
    return field(object, name).is_number_unsigned() ? std::to_string(count(object, name)) : "-";
}

std::chrono::milliseconds time(const json& object, const char* name) {
    constexpr double longest = 1e9; // seconds
    const auto value = field(object, name);
    const auto seconds = value.is_number() ? value.get<double>() : 0;
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(std::clamp(seconds, 0.0, longest) * 1000));
}

class report {
public:
    report(const json& status, const report_style& style) : status_(status), style_(style) {}

    std::string write() {
        write_head();
        write_slots();
        write_snapshots();
        write_events();
        return std::move(text_);
    }

private:
    std::string coloured(const std::string& what, const char* code) const {
        return style_.colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, what) : what;
    }

    /// Good, to be minded, or bad; the rest as it is.
    std::string coloured_state(const std::string& state) const {
        const auto word = state.substr(0, state.find_first_of(",: "));
        const auto is_one_of = [&word](std::initializer_list<std::string_view> words) {
            return std::find(words.begin(), words.end(), word) != words.end();
        };
        if (is_one_of({"ready", "saved", "restored"})) {
            return coloured(state, "32");
        }
        if (is_one_of({"quarantined", "broken", "unreadable", "error"})) {
            return coloured(state, "31");
        }
        return word == "empty" || word == "too" ? state : coloured(state, "33");
    }

    void line(const char* name, const std::string& what, const char* code = nullptr) {
        if (!what.empty()) {
            const auto printable = printable_text(what);
            text_ += fmt::format(
                "{:<9} {}\n", name, code == nullptr ? printable : coloured(printable, code));
        }
    }

    void write_head() {
        write_state();
        line("not saved", text(status_, "not_saved"), "33");
        write_child();
        const auto model = field(status_, "model");
        line("model", text(model, "path").empty() ? text(model, "name") : text(model, "path"));
        write_store();
        write_reuse();
        write_restore();
        write_last_stop();
    }

    void write_state() {
        const auto state = printable_text(text(status_, "state"));
        text_ += fmt::format("llama-hibernate {}: ", printable_text(text(status_, "version")));
        if (state == state_on_disk) {
            text_ += "no daemon was asked; this is what is on disk\n";
            return;
        }
        text_ += fmt::format(
            "{}, for {}\n", coloured_state(state),
            format_age({}, store::wall_time(time(field(status_, "since"), "seconds"))));
    }

    void write_child() {
        const auto child = field(status_, "child");
        if (!child.is_object()) {
            return;
        }
        const auto build = text(child, "build");
        const auto endpoint = text(child, "endpoint");
        line(
            "server",
            fmt::format(
                "{}, process {}, on {}", build.empty() ? "llama-server" : build,
                count(child, "pid"), endpoint.empty() ? text(child, "address") : endpoint));
    }

    void write_store() {
        const auto store = field(status_, "store");
        if (!store.is_object()) {
            return;
        }
        auto what = fmt::format(
            "{}: {} of at most {}", text(store, "root"), format_bytes(count(store, "bytes")),
            format_bytes(count(store, "bound")));
        if (field(store, "free").is_number_unsigned()) {
            what += fmt::format(", {} free on its disk", format_bytes(count(store, "free")));
        }
        line("store", what);
    }

    void write_reuse() {
        const auto reuse = field(status_, "reuse");
        if (count(reuse, "restored_tokens") == 0) {
            return;
        }
        auto what = fmt::format(
            "{} of {} tokens that were restored since llama-hibernate started",
            count(reuse, "restored_tokens_reused"), count(reuse, "restored_tokens"));
        if (const auto saved = time(reuse, "seconds_saved"); saved.count() != 0) {
            what += fmt::format(", which saved {}", format_duration(saved));
        }
        line("reused", what);
    }

    void write_restore() {
        const auto restore = field(status_, "restore");
        if (!restore.is_object()) {
            return;
        }
        line(
            "restored", fmt::format(
                            "{} of {}, {} tokens in {}, at the last start of llama-server",
                            count(restore, "restored"),
                            format_count(count(restore, "planned"), "snapshot", "snapshots"),
                            count(restore, "tokens"), format_duration(time(restore, "seconds"))));
        line("", text(restore, "skipped_because"));
    }

    void write_last_stop() {
        const auto stop = field(status_, "last_stop");
        if (!stop.is_object()) {
            return;
        }
        auto what = fmt::format(
            "{}, saved {}, {} tokens, {} in {}", text(stop, "ended"),
            format_count(count(stop, "conversations"), "conversation", "conversations"),
            count(stop, "tokens"), format_bytes(count(stop, "bytes")),
            format_duration(time(stop, "seconds")));
        if (count(stop, "not_saved") != 0) {
            what += fmt::format(
                "; NOT saved: {}", format_count(count(stop, "not_saved"), "slot", "slots"));
        }
        line("last stop", what);
    }

    void write_slots() {
        std::vector<table_row> rows{{"SLOT", "TOKENS", "SNAPSHOT", "STATE"}};
        for (const auto& slot : field(status_, "slots")) {
            const auto snapshot = text(slot, "snapshot");
            rows.push_back(
                {count_or_dash(slot, "id"), count_or_dash(slot, "tokens"),
                 snapshot.empty() ? "-" : snapshot, text(slot, "state")});
        }
        write_table(std::move(rows), 0);
    }

    void write_snapshots() {
        std::vector<table_row> rows{
            {"SNAPSHOT", "TOKENS", "SIZE", "SAVED", "USES", "REUSED", "STATE"}};
        for (const auto& one : field(status_, "snapshots")) {
            auto state = text(one, "state");
            state += text(one, "prompt_of").empty() ? "" : ", prompt only";
            state += field(one, "pinned") == json(true) ? ", pinned" : "";
            if (const auto problem = text(one, "problem"); !problem.empty()) {
                state += ": " + problem;
            }
            const auto created = text(one, "created");
            rows.push_back(
                {text(one, "id"), count_or_dash(one, "tokens"), format_bytes(count(one, "bytes")),
                 created.empty() ? "-" : created, count_or_dash(one, "uses"),
                 count_or_dash(one, "reused"), state});
        }
        write_table(std::move(rows), 1);
    }

    /// The last column is a state.
    void write_table(std::vector<table_row> rows, std::size_t left_columns) {
        if (rows.size() < 2) {
            return;
        }
        std::vector<std::string> states;
        for (auto& row : rows) {
            states.push_back(printable_text(row.back()));
        }
        text_ += "\n";
        const auto whole = lay_out(std::move(rows), left_columns);
        std::size_t begin = 0;
        for (std::size_t i = 0; i < states.size(); ++i) {
            const auto end = whole.find('\n', begin);
            const auto before = whole.substr(begin, end - begin - states[i].size());
            text_ +=
                i == 0 ? coloured(before + states[i], "1") : before + coloured_state(states[i]);
            text_ += "\n";
            begin = end + 1;
        }
    }

    void write_events() {
        const auto events = field(status_, "events");
        if (!events.is_array() || events.empty()) {
            return;
        }
        text_ += "\n";
        const auto first = events.size() - std::min(events.size(), shown_events);
        for (std::size_t i = first; i < events.size(); ++i) {
            const auto said = printable_text(text(events[i], "text"));
            const auto level = text(events[i], "level");
            const char* code = level == "error" ? "31" : level == "warning" ? "33" : "0";
            text_ += fmt::format(
                "{}  {}\n", printable_text(text(events[i], "time")),
                level == "info" ? said : coloured(said, code));
        }
    }

    const json& status_;
    const report_style& style_;
    std::string text_;
};

} // namespace

std::string report_status(std::string_view json_text, const report_style& style) {
    const auto status = json::parse(json_text, nullptr, false);
    return text(status, "state").empty() ? std::string() : report(status, style).write();
}

} // namespace hibernate::commands

#include "llama_hibernate/admin/status.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "llama_hibernate/base/log.hpp"

namespace hibernate::admin {

using json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using store::format_time;

namespace {

double seconds(milliseconds time) {
    return std::chrono::duration<double>(time).count();
}

double whole_seconds(milliseconds time) {
    return static_cast<double>(std::chrono::floor<std::chrono::seconds>(time).count());
}

json text_or_null(const std::string& text) {
    return text.empty() ? json() : json(text);
}

json since(wall_time then, wall_time now) {
    return {
        {"time", format_time(then)},
        {"seconds", whole_seconds(std::max<milliseconds>(now - then, milliseconds(0)))}};
}

json describe(const slot_view& slot) {
    return {
        {"id", slot.id},
        {"tokens", slot.tokens ? json(*slot.tokens) : json()},
        {"state", to_string(slot.condition)},
        {"snapshot", text_or_null(slot.snapshot)}};
}

json describe(const snapshot_view& one) {
    const bool readable = one.created != wall_time{};
    return {
        {"id", one.id},
        {"state", one.state},
        {"problem", text_or_null(one.problem)},
        {"tokens", readable ? json(one.tokens) : json()},
        {"bytes", one.bytes},
        {"created", readable ? json(format_time(one.created)) : json()},
        {"last_used", readable ? json(format_time(one.last_used)) : json()},
        {"saved_because", text_or_null(one.reason)},
        {"uses", one.uses},
        {"reused", one.reused},
        {"missed", one.missed},
        {"pinned", one.pinned},
        {"prompt_of", text_or_null(one.boundary_of)},
        {"superseded_by", text_or_null(one.superseded_by)}};
}

json describe(const store_view& store) {
    return {
        {"root", store.root},
        {"bytes", store.bytes},
        {"bound", store.bound},
        {"min_free", store.min_free},
        {"free", store.free ? json(*store.free) : json()},
        {"snapshots", store.snapshots},
        {"seen", format_time(store.seen)}};
}

json describe(const reuse_view& reuse) {
    return {
        {"restored_tokens", reuse.restored_tokens},
        {"restored_tokens_reused", reuse.restored_tokens_reused},
        {"prompt_tokens_reused", reuse.prompt_tokens_reused},
        {"prompt_tokens_computed", reuse.prompt_tokens_computed},
        {"seconds_saved", reuse.seconds_saved}};
}

json describe(const restore_view& restore) {
    return {
        {"planned", restore.planned}, {"restored", restore.restored},
        {"tokens", restore.tokens},   {"seconds", seconds(restore.time)},
        {"skipped", restore.skipped}, {"skipped_because", text_or_null(restore.skipped_because)}};
}

json describe(const store::stop_record& stop) {
    return {
        {"ended", format_time(stop.ended)},
        {"conversations", stop.conversations},
        {"tokens", stop.tokens},
        {"bytes", stop.bytes},
        {"seconds", seconds(stop.time)},
        {"not_saved", stop.not_saved},
        {"missing_seconds", seconds(stop.missing_time)},
        {"cut_short", stop.cut_short}};
}

const char* name_of(log::level level) {
    return level == log::level::error ? "error" : level == log::level::warning ? "warning" : "info";
}

template <typename T>
json describe_if_there(const std::optional<T>& what) {
    return what ? describe(*what) : json();
}

} // namespace

std::string status_as_json(const overview& what) {
    json object{
        {"now", format_time(what.now)},
        {"version", what.version},
        {"state", what.state},
        {"since", since(what.state_since, what.now)},
        {"started", since(what.started, what.now)},
        {"not_saved", text_or_null(what.not_saved)},
        {"min_tokens", what.min_tokens ? json(*what.min_tokens) : json()}};
    object["child"] = what.child ? json{{"pid", what.child->pid},
                                        {"build", text_or_null(what.child->build)},
                                        {"address", what.child->address},
                                        {"endpoint", text_or_null(what.child->endpoint)}}
                                 : json();
    object["model"] = {
        {"name", text_or_null(what.model.name)},
        {"path", text_or_null(what.model.path)},
        {"directory", text_or_null(what.model.directory)}};
    object["slots"] = json::array();
    for (const auto& slot : what.slots) {
        object["slots"].push_back(describe(slot));
    }
    object["store"] = describe_if_there(what.store);
    object["snapshots"] = json::array();
    if (what.store) {
        for (const auto& one : what.store->of_model) {
            object["snapshots"].push_back(describe(one));
        }
    }
    object["reuse"] = describe(what.reuse);
    object["restore"] = describe_if_there(what.restore);
    object["last_stop"] = describe_if_there(what.last_stop);
    object["events"] = json::array();
    for (const auto& line : what.events) {
        object["events"].push_back(
            {{"time", format_time(line.time)},
             {"level", name_of(line.level)},
             {"text", line.text}});
    }
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace hibernate::admin

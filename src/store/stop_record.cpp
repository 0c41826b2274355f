#include "llama_hibernate/store/stop_record.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "snapshot_files.hpp"

namespace hibernate::store {

using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t max_record_bytes = 4096;
constexpr std::uint64_t max_milliseconds = 253402300799999; // the end of the year 9999

std::uint64_t number(const json& object, const char* name) {
    const auto field = object.value(name, json());
    return field.is_number_unsigned() ? field.get<std::uint64_t>() : 0;
}

milliseconds time(const json& object, const char* name) {
    return milliseconds(std::min(number(object, name), max_milliseconds));
}

} // namespace

std::optional<stop_record> read_stop_record(disk& disk, const std::filesystem::path& directory) {
    const auto text = disk.read(directory / stopped_name, 0, max_record_bytes);
    const auto object = text ? json::parse(*text, nullptr, false) : json();
    if (!object.is_object() || !object.contains("ended")) {
        return std::nullopt;
    }
    stop_record found;
    found.ended = wall_time(time(object, "ended"));
    found.conversations = number(object, "conversations");
    found.tokens = number(object, "tokens");
    found.bytes = number(object, "bytes");
    found.time = time(object, "milliseconds");
    found.not_saved = number(object, "not_saved");
    found.missing_time = time(object, "missing_milliseconds");
    found.cut_short = object.value("cut_short", json()) == json(true);
    return found;
}

error_code
write_stop_record(disk& disk, const std::filesystem::path& directory, const stop_record& what) {
    const json object{
        {"ended", what.ended.time_since_epoch().count()},
        {"conversations", what.conversations},
        {"tokens", what.tokens},
        {"bytes", what.bytes},
        {"milliseconds", what.time.count()},
        {"not_saved", what.not_saved},
        {"missing_milliseconds", what.missing_time.count()},
        {"cut_short", what.cut_short}};
    return disk.replace(directory / stopped_name, object.dump() + "\n", when_synced::later);
}

} // namespace hibernate::store

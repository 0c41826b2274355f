#include "llama_hibernate/store/manifest.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

namespace hibernate::store {

using nlohmann::json;

namespace {

constexpr std::uint64_t format = 1;
constexpr std::size_t checksum_digits = 32;
constexpr std::size_t tokens_hash_digits = 16;

constexpr std::uint64_t misses_to_retire = 2;
constexpr std::uint64_t max_tokens = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t max_bytes = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t max_milliseconds = 253402300799999; ///< the end of the year 9999

/// Deeper than anything that a later version would write. Writing JSON recurses, so what we keep
/// must not be able to exhaust the stack.
constexpr int max_depth = 16;

bool is_hex(std::string_view text, std::size_t digits) {
    return text.size() == digits && std::all_of(text.begin(), text.end(), [](char digit) {
               return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
           });
}

const char* to_string(continuation how) {
    switch (how) {
    case continuation::verbatim:
        return "verbatim";
    case continuation::changed:
        return "changed";
    case continuation::unknown:
        break;
    }
    return "";
}

/// Takes the fields that we know out of an object and remembers the first that is not as it must
/// be; what remains in the object is what we do not know.
class field_reader {
public:
    explicit field_reader(json& object) : object_(object) {}

    const std::string& problem() const noexcept { return problem_; }

    std::string text(const char* name) {
        const auto field = take(name);
        if (!field.is_string()) {
            refuse(name, "a string");
            return {};
        }
        return field.get<std::string>();
    }

    std::string hex(const char* name, std::size_t digits, bool may_be_empty = false) {
        auto value = text(name);
        if (!is_hex(value, digits) && !(may_be_empty && value.empty())) {
            refuse(name, fmt::format("{} lower-case hex digits", digits));
        }
        return value;
    }

    /// Empty if there is no such field.
    std::string hex_if_there(const char* name, std::size_t digits, bool may_be_empty = false) {
        return object_.contains(name) ? hex(name, digits, may_be_empty) : std::string();
    }

    continuation continuation_if_there(const char* name) {
        const auto given = object_.contains(name) ? text(name) : std::string();
        for (const auto known : {continuation::verbatim, continuation::changed}) {
            if (given == to_string(known)) {
                return known;
            }
        }
        return continuation::unknown;
    }

    /// 0 if there is no such field.
    std::uint64_t count_if_there(const char* name) {
        return object_.contains(name) ? number(name, 0, max_bytes) : 0;
    }

    std::uint64_t number(const char* name, std::uint64_t least, std::uint64_t most) {
        const auto field = take(name);
        const auto value = field.is_number_unsigned() ? field.get<std::uint64_t>() : 0;
        if (!field.is_number_unsigned() || value < least || value > most) {
            refuse(name, fmt::format("a whole number from {} to {}", least, most));
        }
        return value;
    }

    wall_time time(const char* name) {
        return wall_time{std::chrono::milliseconds{number(name, 0, max_milliseconds)}};
    }

    bool flag(const char* name) {
        const auto field = take(name);
        if (!field.is_boolean()) {
            refuse(name, "true or false");
            return false;
        }
        return field.get<bool>();
    }

    std::map<std::string, std::string> texts_by_name(const char* name) {
        const auto field = take(name);
        std::map<std::string, std::string> values;
        bool valid = field.is_object();
        if (valid) {
            for (const auto& [key, value] : field.items()) {
                valid = valid && value.is_string();
                values[key] = value.is_string() ? value.get<std::string>() : std::string();
            }
        }
        if (!valid) {
            refuse(name, "an object of strings");
        }
        return values;
    }

    std::vector<std::string> ids(const char* name) {
        const auto field = take(name);
        std::vector<std::string> values;
        bool valid = field.is_array();
        if (valid) {
            for (const auto& value : field) {
                valid = valid && value.is_string() && is_snapshot_id(value.get<std::string>());
                if (valid) {
                    values.push_back(value.get<std::string>());
                }
            }
        }
        if (!valid) {
            refuse(name, "a list of snapshot ids");
        }
        return values;
    }

private:
    json take(const char* name) {
        const auto found = object_.find(name);
        if (found == object_.end()) {
            return nullptr;
        }
        json value = std::move(*found);
        object_.erase(found);
        return value;
    }

    void refuse(const char* name, std::string_view wanted) {
        if (problem_.empty()) {
            problem_ = fmt::format("its \"{}\" is not {}", name, wanted);
        }
    }

    json& object_;
    std::string problem_;
};

manifest_reading refuse(std::string problem) {
    return {std::nullopt, std::move(problem), false};
}

/// Whether brackets nest deeper than that, whatever else the text may be. The parser could be asked
/// to tell, too, at a quarter more of its time, and a start reads every manifest.
bool is_too_deep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        if (quoted) {
            i += letter == '\\' ? 1 : 0;
            quoted = letter != '"';
        } else if (letter == '"') {
            quoted = true;
        } else if (letter == '{' || letter == '[') {
            if (++depth > max_depth) {
                return true;
            }
        } else if (letter == '}' || letter == ']') {
            --depth;
        }
    }
    return false;
}

/// The object that a text holds, or nothing for anything else.
std::optional<json> parse_object(std::string_view text) {
    if (is_too_deep(text)) {
        return std::nullopt;
    }
    constexpr bool throw_on_error = false;
    auto object = json::parse(text, nullptr, throw_on_error);
    if (!object.is_object()) {
        return std::nullopt;
    }
    return object;
}

} // namespace

bool is_snapshot_id(std::string_view text) {
    return is_hex(text, snapshot_id_digits);
}

bool is_snapshot_name(std::string_view name, std::string_view extension) {
    return is_snapshot_id(name.substr(0, snapshot_id_digits)) &&
           name.substr(snapshot_id_digits) == extension;
}

bool is_retired(const manifest& what) {
    return what.missed >= misses_to_retire;
}

std::uint64_t useful_tokens(const manifest& what) {
    return what.prompt_tokens != 0 ? what.prompt_tokens : what.tokens;
}

std::string format_time(wall_time time) {
    const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(time);
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds.time_since_epoch().count()));
}

wall_time wall_now() {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
}

signature signature_of(const manifest& what) {
    auto complete = what.signature;
    complete.parts[state_version_part] = std::to_string(what.state_version);
    return complete;
}

std::string write_manifest(const manifest& what) {
    json object = json::object();
    if (auto unknown = parse_object(what.unknown_fields)) {
        object = std::move(*unknown);
    }
    object["format"] = format;
    object["id"] = what.id;
    object["signature"] = what.signature.parts;
    object["model_name"] = what.model_name;
    object["model_path"] = what.model_path;
    object["tokens"] = what.tokens;
    object["bytes"] = what.bytes;
    object["state_version"] = what.state_version;
    object["created_ms"] = what.created.time_since_epoch().count();
    object["last_used_ms"] = what.last_used.time_since_epoch().count();
    object["uses"] = what.uses;
    object["reused"] = what.reused;
    object["missed"] = what.missed;
    object["save_us"] = what.save_time.count();
    object["prompt_tokens"] = what.prompt_tokens;
    object["boundary_of"] = what.boundary_of;
    object["boundary_gap"] = what.boundary_gap;
    object["cut_cost"] = what.cut_cost;
    object["went_on"] = to_string(what.went_on);
    object["reason"] = what.reason;
    object["slot"] = what.slot;
    if (!what.tokens_hash.empty()) {
        object["tokens_hash"] = what.tokens_hash;
    }
    object["checksum"] = what.checksum;
    object["synced"] = what.synced;
    object["boot_id"] = what.boot_id;
    object["pinned"] = what.pinned;
    object["quarantine"] = what.quarantine;
    object["crashes"] = what.crashes;
    object["supersedes"] = what.supersedes;
    constexpr int indent = 2;
    // A name from a file system may be no UTF-8; that must not cost the snapshot.
    return object.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

manifest_reading read_manifest(std::string_view text) {
    auto object = parse_object(text);
    if (!object) {
        return refuse("it is not a JSON object");
    }
    field_reader fields(*object);
    const auto written_as = fields.number("format", 1, std::numeric_limits<std::uint64_t>::max());
    if (!fields.problem().empty()) {
        return refuse(fields.problem());
    }
    if (written_as > format) {
        auto newer = refuse(fmt::format(
            "its format {} is newer than {}, the newest that this version reads", written_as,
            format));
        newer.may_be_sound = true;
        return newer;
    }
    manifest value;
    value.id = fields.hex("id", snapshot_id_digits);
    value.signature.parts = fields.texts_by_name("signature");
    value.model_name = fields.text("model_name");
    value.model_path = fields.text("model_path");
    value.tokens = fields.number("tokens", 1, max_tokens);
    value.bytes = fields.number("bytes", 1, max_bytes);
    value.state_version = static_cast<std::uint32_t>(
        fields.number("state_version", 0, std::numeric_limits<std::uint32_t>::max()));
    value.created = fields.time("created_ms");
    value.last_used = fields.time("last_used_ms");
    value.uses = fields.number("uses", 0, max_bytes);
    value.reused = fields.count_if_there("reused");
    value.missed = fields.count_if_there("missed");
    value.save_time = std::chrono::microseconds(fields.count_if_there("save_us"));
    value.prompt_tokens = fields.count_if_there("prompt_tokens");
    value.boundary_of = fields.hex_if_there("boundary_of", snapshot_id_digits, true);
    value.boundary_gap = fields.count_if_there("boundary_gap");
    value.cut_cost = fields.count_if_there("cut_cost");
    value.went_on = fields.continuation_if_there("went_on");
    value.reason = fields.text("reason");
    value.slot =
        static_cast<int>(fields.number("slot", 0, std::numeric_limits<std::int32_t>::max()));
    value.tokens_hash = fields.hex_if_there("tokens_hash", tokens_hash_digits);
    value.checksum = fields.hex("checksum", checksum_digits, true);
    value.synced = fields.flag("synced");
    value.boot_id = fields.text("boot_id");
    value.pinned = fields.flag("pinned");
    value.quarantine = fields.text("quarantine");
    value.crashes = fields.number("crashes", 0, max_bytes);
    value.supersedes = fields.ids("supersedes");
    if (!fields.problem().empty()) {
        return refuse(fields.problem());
    }
    if (!object->empty()) {
        value.unknown_fields = object->dump();
    }
    return {std::move(value), {}, false};
}

} // namespace hibernate::store

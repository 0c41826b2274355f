#include "llama_hibernate/llama/server_args.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "argument_table.hpp"
#include "llama_hibernate/base/error.hpp"

namespace hibernate::llama {
namespace {

struct given_value {
    std::string source; ///< the argument or the variable, as the user wrote it
    std::string text;   ///< of a switch "1" or "0"
};

/// What was given, by canonical name: the environment's values first, then the command line's, in
/// order.
using given_values = std::map<std::string_view, std::vector<given_value>>;

[[noreturn]] void refuse(const given_value& given, std::string_view why) {
    throw startup_error(
        fmt::format("{}: \"{}\" {}.", given.source, given.text, why), exit_status::usage);
}

void record(given_values& values, const known_argument& argument, given_value given) {
    if (argument.normalise) {
        given.text = argument.normalise(given.text);
    }
    if (!argument.port.empty()) {
        values["port"].push_back({given.source, std::string(argument.port)});
    }
    values[argument.name].push_back(std::move(given));
}

std::string switch_value(bool on) {
    return on ? "1" : "0";
}

void read_environment(given_values& values, const environment_map& environment) {
    for (const known_argument& argument : known_arguments()) {
        if (argument.environment.empty()) {
            continue;
        }
        if (!argument.negations.empty()) {
            // Its presence says no, whatever its value, and outweighs the positive one.
            const std::string negation = negated_environment_name(argument.environment);
            if (environment.contains(negation)) {
                record(values, argument, {negation, switch_value(false)});
                continue;
            }
        }
        const auto found = environment.find(std::string(argument.environment));
        if (found == environment.end()) {
            continue;
        }
        const bool is_switch = argument.values == argument_values::none;
        record(
            values, argument,
            {found->first, is_switch ? switch_value(is_truthy(found->second)) : found->second});
    }
}

/// The text that stands for an argument's values: a switch's is its own name where the name is what
/// matters (--gpt-oss-20b-default), two are put together as llama-server would write them in one.
std::string value_text(const spelled_argument& spelled, std::span<const std::string> values) {
    const known_argument& argument = *spelled.argument;
    if (argument.use == argument_use::preset) {
        return {};
    }
    if (values.empty()) {
        return switch_value(!spelled.negated);
    }
    if (values.size() == 1) {
        return values[0];
    }
    const char between = argument.values == argument_values::file_and_scale ? ':' : ' ';
    return values[0] + between + values[1];
}

std::vector<std::string>
read_command_line(given_values& values, std::span<const std::string> arguments) {
    std::vector<std::string> passed_on;
    for (std::size_t i = 0; i < arguments.size();) {
        const std::string& as_given = arguments[i];
        const std::optional<spelled_argument> spelled = find_argument(as_given);
        if (!spelled) {
            passed_on.push_back(as_given);
            ++i;
            continue;
        }
        const std::span<const std::string> following = arguments.subspan(i + 1);
        const std::size_t count = count_values(*spelled->argument, following);
        if (count > following.size()) {
            // The child would take what we append for the missing value, and complain about that.
            throw startup_error(
                fmt::format("{} needs a value after it.", as_given), exit_status::usage);
        }
        record(
            values, *spelled->argument, {as_given, value_text(*spelled, following.first(count))});
        if (spelled->argument->use != argument_use::taken_over) {
            const auto whole = arguments.subspan(i, 1 + count);
            passed_on.insert(passed_on.end(), whole.begin(), whole.end());
        }
        i += 1 + count;
    }
    return passed_on;
}

const given_value* last(const given_values& values, std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second.back();
}

std::string last_text(const given_values& values, std::string_view name) {
    const given_value* given = last(values, name);
    return given ? given->text : std::string();
}

std::optional<bool> last_switch(const given_values& values, std::string_view name) {
    const given_value* given = last(values, name);
    return given ? std::optional(given->text == "1") : std::nullopt;
}

int read_int(const given_value& given, int lowest, int highest, std::string_view allowed) {
    int value = 0;
    const char* end = given.text.data() + given.text.size();
    const auto [stopped, error] = std::from_chars(given.text.data(), end, value);
    if (error != std::errc{} || stopped != end || value < lowest || value > highest) {
        refuse(given, allowed);
    }
    return value;
}

std::vector<std::string> split_at_commas(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        if (end > 0) {
            parts.emplace_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string without_outer_spaces(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> read_hosts(const given_value& given) {
    std::vector<std::string> hosts;
    for (const std::string& part : split_at_commas(given.text)) {
        std::string host = without_outer_spaces(part);
        if (!host.empty()) {
            hosts.push_back(std::move(host));
        }
    }
    if (hosts.empty()) {
        refuse(given, "names no address to listen on");
    }
    return hosts;
}

void read_key_file(const given_value& given, std::vector<std::string>& keys) {
    // A pipe would be empty by the time the child reads it, and the child then asks for no key.
    std::error_code error;
    if (!std::filesystem::is_regular_file(given.text, error)) {
        refuse(given, "is not a file that can be read");
    }
    std::ifstream file(given.text);
    std::string line;
    while (std::getline(file, line)) {
        if (line.ends_with('\r')) {
            line.pop_back(); // no header could carry it
        }
        if (!line.empty() && line[0] != '#') {
            keys.push_back(line);
        }
    }
    if (!file.eof()) {
        refuse(given, "is not a file that can be read");
    }
}

/// All of them count, from the environment too.
std::vector<std::string> read_api_keys(const given_values& values) {
    std::vector<std::string> keys;
    if (const auto found = values.find("api-key"); found != values.end()) {
        for (const given_value& given : found->second) {
            const std::vector<std::string> parts = split_at_commas(given.text);
            keys.insert(keys.end(), parts.begin(), parts.end());
        }
    }
    if (const auto found = values.find("api-key-file"); found != values.end()) {
        for (const given_value& given : found->second) {
            read_key_file(given, keys);
        }
    }
    return keys;
}

std::string without_dashes(std::string_view argument) {
    return std::string(argument.substr(std::min(argument.find_first_not_of('-'), argument.size())));
}

/// In llama-server's own order: a repository outweighs a file, which then is only where it is kept.
std::string read_model(const given_values& values) {
    if (const std::string docker = last_text(values, "docker-repo"); !docker.empty()) {
        return docker;
    }
    if (const std::string repository = last_text(values, "hf-repo"); !repository.empty()) {
        const std::string file = last_text(values, "hf-file");
        return file.empty() ? repository : repository + "/" + file;
    }
    if (const given_value* preset = last(values, "preset")) {
        return without_dashes(preset->source);
    }
    const std::string path = last_text(values, "model");
    return path.empty() ? last_text(values, "model-url") : path;
}

bool prints_and_exits(const given_values& values) {
    return std::ranges::any_of(known_arguments(), [&](const known_argument& argument) {
        return argument.use == argument_use::prints && values.contains(argument.name);
    });
}

std::map<std::string, std::string> read_state_options(const given_values& values) {
    std::map<std::string, std::string> options;
    for (const known_argument& argument : known_arguments()) {
        const auto found = values.find(argument.name);
        if (argument.use != argument_use::state || found == values.end()) {
            continue;
        }
        std::string text = found->second.back().text;
        if (argument.accumulates) {
            text.clear();
            for (const given_value& given : found->second) {
                text += (text.empty() ? "" : ",") + given.text;
            }
        }
        if (text != argument.default_value) {
            options[std::string(argument.name)] = text;
        }
    }
    return options;
}

/// FILE or FILE:SCALE.
state_file read_state_file(std::string_view option, std::string_view item, bool scaled) {
    const std::size_t colon = scaled ? item.rfind(':') : item.npos;
    if (colon == item.npos) {
        return {std::string(option), std::string(item), {}};
    }
    return {
        std::string(option), std::string(item.substr(0, colon)),
        same_number(item.substr(colon + 1))};
}

std::vector<state_file> read_state_files(const std::map<std::string, std::string>& options) {
    std::vector<state_file> files;
    for (const auto& [name, text] : options) {
        const auto argument = std::ranges::find(known_arguments(), name, &known_argument::name);
        if (argument->files == named_files::one) {
            files.push_back(read_state_file(name, text, false));
        } else if (argument->files != named_files::none) {
            for (const std::string& item : split_at_commas(text)) {
                files.push_back(
                    read_state_file(name, item, argument->files == named_files::scaled_list));
            }
        }
    }
    return files;
}

} // namespace

int server_args::connection_threads(int processors) const {
    constexpr int beside_slots = 2;
    return threads_http.value_or(std::max(parallel.value_or(1) + beside_slots, processors - 1));
}

int server_args::stream_count(int total_slots) const {
    return total_slots == 1 || kv_unified ? 1 : total_slots;
}

server_args
read_server_args(const std::vector<std::string>& arguments, const environment_map& environment) {
    server_args args;
    given_values values;
    read_environment(values, environment);
    args.passed_on = read_command_line(values, arguments);
    args.prints_and_exits = prints_and_exits(values);

    if (const given_value* host = last(values, "host")) {
        args.hosts = read_hosts(*host);
    }
    if (const given_value* port = last(values, "port")) {
        args.port = read_int(*port, 0, 65535, "is not a port from 0 to 65535");
    }
    args.reuse_port = last_switch(values, "reuse-port").value_or(false);
    args.ssl_key_file = last_text(values, "ssl-key-file");
    args.ssl_cert_file = last_text(values, "ssl-cert-file");
    args.slot_save_path = last_text(values, "slot-save-path");

    args.api_keys = read_api_keys(values);
    args.api_prefix = last_text(values, "api-prefix");
    if (!args.api_prefix.empty() && args.api_prefix[0] != '/') {
        refuse(
            *last(values, "api-prefix"),
            "does not begin with /, so that no request could match it");
    }

    args.model = read_model(values);
    args.model_path = args.model == last_text(values, "model") ? args.model : std::string();

    if (const given_value* parallel = last(values, "parallel")) {
        const int slots = read_int(*parallel, -1'000'000, 1'000'000, "is not a number of slots");
        args.parallel = slots < 0 ? std::nullopt : std::optional(slots);
    }
    if (const given_value* threads = last(values, "threads-http")) {
        const int count = read_int(*threads, -1'000'000, 1'000'000, "is not a number of threads");
        args.threads_http = count < 1 ? std::nullopt : std::optional(count);
    }
    // An automatic number of slots is always unified, even after --no-kv-unified.
    args.kv_unified = !args.parallel || last_switch(values, "kv-unified").value_or(false);

    if (const given_value* mebibytes = last(values, "cache-ram")) {
        const int size = read_int(*mebibytes, -1'000'000, 1'000'000'000, "is not a size in MiB");
        args.ram_cache =
            size < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(size) << 20);
    }
    args.cache_idle_slots = last_switch(values, "cache-idle-slots").value_or(true);

    if (const given_value* seconds = last(values, "sleep-idle-seconds")) {
        const int idle = read_int(*seconds, -1'000'000'000, 1'000'000'000, "is no time in seconds");
        args.sleep_after = idle < 0 ? std::nullopt : std::optional(std::chrono::seconds(idle));
    }
    args.cache_prompt = last_switch(values, "cache-prompt").value_or(true);
    args.no_conversations = last_switch(values, "embedding").value_or(false) ||
                            last_switch(values, "rerank").value_or(false);
    // Which builds have them is not known, nor how many values follow.
    args.own_disk_cache = std::ranges::any_of(args.passed_on, [](std::string_view argument) {
        return argument == "--cache-disk" || argument == "--cache-dir" ||
               argument.starts_with("--cache-disk=") || argument.starts_with("--cache-dir=");
    });

    args.state_options = read_state_options(values);
    args.state_files = read_state_files(args.state_options);
    return args;
}

std::vector<std::string> child_arguments(
    const server_args& args,
    const std::string& host,
    std::uint16_t port,
    const std::string& slot_save_path) {
    std::vector<std::string> arguments = args.passed_on;
    arguments.insert(arguments.end(), {"--host", host});
    if (port != 0) {
        // Last, because llama-server's presets set a port as well, and the last one counts.
        arguments.insert(arguments.end(), {"--port", std::to_string(port)});
    }
    if (!slot_save_path.empty()) {
        arguments.insert(arguments.end(), {"--slot-save-path", slot_save_path});
    }
    return arguments;
}

std::vector<std::string> child_environment(const environment_map& environment) {
    constexpr std::array<std::string_view, 5> between_us_and_others = {
        "LLAMA_SERVER_ROUTER_PORT", "LLAMA_SERVER_CHILD_MODE", "NOTIFY_SOCKET", "WATCHDOG_PID",
        "WATCHDOG_USEC"};
    const auto is_ours = [&](std::string_view name) {
        return name.starts_with("LLAMA_HIBERNATE_") || name.starts_with("LISTEN_") ||
               std::ranges::find(between_us_and_others, name) != between_us_and_others.end() ||
               std::ranges::any_of(known_arguments(), [name](const known_argument& argument) {
                   return argument.use == argument_use::taken_over && argument.environment == name;
               });
    };
    std::vector<std::string> entries;
    for (const auto& [name, value] : environment) {
        if (!is_ours(name)) {
            entries.push_back(name + "=" + value);
        }
    }
    return entries;
}

} // namespace hibernate::llama

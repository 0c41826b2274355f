#include "llama_hibernate/app/options.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>

#include "configuration_file.hpp"
#include "llama_hibernate/base/error.hpp"
#include "option_table.hpp"

namespace hibernate::app {
namespace {

using llama::environment_map;

/// The command line, taken apart.
struct command_line {
    std::vector<option_value> ours;
    std::vector<std::string> rest; ///< in order
    bool print_configuration = false;
};

[[noreturn]] void refuse_usage(const std::string& sentence) {
    throw startup_error(sentence, exit_status::usage);
}

const option& option_of_argument(std::string_view name) {
    const option* found = find_option(name);
    if (!found) {
        const std::optional<std::string_view> nearest = nearest_option(name);
        refuse_usage(
            fmt::format("There is no option {}{}", argument_prefix, name) +
            (nearest ? fmt::format("; did you mean {}{}?", argument_prefix, *nearest)
                     : "; llama-hibernate --help lists them."));
    }
    return *found;
}

command_line take_apart(const std::vector<std::string>& arguments) {
    command_line line;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (!argument.starts_with(argument_prefix)) {
            line.rest.push_back(argument);
            continue;
        }
        const std::size_t equals = std::min(argument.find('='), argument.size());
        const std::string as_given = argument.substr(0, equals);
        const option& option =
            option_of_argument(std::string_view(as_given).substr(argument_prefix.size()));
        if (is_flag(option)) {
            if (equals < argument.size()) {
                refuse_usage(fmt::format("{} takes no value.", as_given));
            }
            line.print_configuration = true;
            continue;
        }
        if (equals < argument.size()) {
            line.ours.push_back({&option, {as_given, argument.substr(equals + 1)}});
            continue;
        }
        if (i + 1 == arguments.size()) {
            refuse_usage(fmt::format("{} needs a value ({}) after it.", as_given, option.value));
        }
        // Rather a forgotten value than one that begins with a dash: no option's usually does.
        const std::string& value = arguments[++i];
        if (value.starts_with('-')) {
            refuse_usage(fmt::format(
                "{0} needs a value ({1}), but {2} follows it; write {0}={2} if that is the value.",
                as_given, option.value, value));
        }
        line.ours.push_back({&option, {as_given, value}});
    }
    return line;
}

/// An empty variable is one that is not set, as in the XDG rules.
std::string variable(const environment_map& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

/// llama-swap and systemd start us without a shell, so nobody else expands it.
given_value expand_home(given_value given, const environment_map& environment) {
    if (!given.text.starts_with("~/")) {
        return given;
    }
    const std::string home = variable(environment, "HOME");
    if (home.empty()) {
        refuse(given, "HOME is not set, so write the whole path");
    }
    given.text.replace(0, 1, home);
    return given;
}

setting& setting_of(options& of, std::string_view name) {
    return *std::ranges::find(of.settings, name, &setting::name);
}

void set(
    options& into,
    const option_value& value,
    const std::string& source,
    const environment_map& environment) {
    const option& option = *value.option;
    const given_value given = option.is_path ? expand_home(value.given, environment) : value.given;
    if (option.set) {
        option.set(into, given);
    }
    setting& known = setting_of(into, option.name);
    known.value = given.text;
    known.source = source;
}

/// configuration_file is the one that is read; empty: none is.
std::vector<setting> default_settings(const std::filesystem::path& configuration_file) {
    std::vector<setting> settings;
    for (const option& option : option_table()) {
        if (!is_flag(option)) {
            settings.push_back({option.name, std::string(option.default_value), "default"});
        }
        if (option.name == "config") {
            settings.back().value = configuration_file.string();
        }
    }
    return settings;
}

std::vector<option_value> environment_values(const environment_map& environment) {
    std::vector<option_value> values;
    for (const option& option : option_table()) {
        if (is_flag(option)) {
            continue;
        }
        const std::string name = environment_name(option);
        std::string text = variable(environment, name);
        if (!text.empty()) {
            values.push_back({&option, {name, std::move(text)}});
        }
    }
    return values;
}

/// Variables with our prefix that are no option. llama-server ignores such ones of its own, and
/// they may be another version's, so they are no error.
std::vector<std::string> unknown_variables(const environment_map& environment) {
    std::vector<std::string> remarks;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(environment_prefix)) {
            continue;
        }
        const bool known = std::ranges::any_of(option_table(), [&](const option& option) {
            return !is_flag(option) && environment_name(option) == name;
        });
        if (known) {
            continue;
        }
        std::string meant = name.substr(environment_prefix.size());
        for (char& letter : meant) {
            letter = letter == '_'                    ? '-'
                     : letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a')
                                                      : letter;
        }
        std::optional<std::string_view> nearest = nearest_option(meant);
        if (nearest && is_flag(*find_option(*nearest))) {
            nearest.reset();
        }
        remarks.push_back(
            fmt::format("The variable {} is no option and does nothing", name) +
            (nearest ? fmt::format("; did you mean {}?", environment_name(*find_option(*nearest)))
                     : "."));
    }
    return remarks;
}

/// The user's configuration directory, or the path that cannot be when there is none.
std::filesystem::path user_configuration_file(const environment_map& environment) {
    std::filesystem::path directory = variable(environment, "XDG_CONFIG_HOME");
    if (!directory.is_absolute()) {
        const std::string home = variable(environment, "HOME");
        if (home.empty()) {
            return {};
        }
        directory = std::filesystem::path(home) / ".config";
    }
    return directory / "llama-hibernate" / "config.json";
}

/// Empty when there is no configuration file. One in a directory that is closed to us counts as
/// none: a service need not have access to a home directory.
std::filesystem::path configuration_file(
    const std::vector<option_value>& from_environment,
    const std::vector<option_value>& from_arguments,
    const environment_map& environment,
    const std::filesystem::path& system_file) {
    std::filesystem::path named;
    for (const auto* values : {&from_environment, &from_arguments}) {
        for (const option_value& value : *values) {
            if (value.option->name != "config") {
                continue;
            }
            if (value.given.text.empty()) {
                refuse(value.given, "it must be the path of a file");
            }
            named = expand_home(value.given, environment).text;
        }
    }
    if (!named.empty()) {
        return named;
    }
    for (const std::filesystem::path& file : {user_configuration_file(environment), system_file}) {
        std::error_code error;
        if (!file.empty() && std::filesystem::exists(file, error)) {
            return file;
        }
    }
    return {};
}

/// Empty when nothing names a place.
std::filesystem::path default_root(const environment_map& environment) {
    const std::string systemd = variable(environment, "CACHE_DIRECTORY");
    if (const std::string first = systemd.substr(0, systemd.find(':')); !first.empty()) {
        return first;
    }
    const std::filesystem::path cache = variable(environment, "XDG_CACHE_HOME");
    if (cache.is_absolute()) {
        return cache / "llama-hibernate";
    }
    if (const std::string home = variable(environment, "HOME"); !home.empty()) {
        return std::filesystem::path(home) / ".cache" / "llama-hibernate";
    }
    return {};
}

/// Where a path leads from where we were started; of an empty one nowhere.
std::filesystem::path make_absolute(const std::filesystem::path& path) {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path, failed).lexically_normal();
    if (path.empty() || failed) {
        return path;
    }
    return whole.has_filename() ? whole : whole.parent_path();
}

/// Help and version are ours when nothing else is on the line that could be llama-server's.
std::optional<mode> asked_for(const std::vector<std::string>& rest) {
    if (rest.size() != 1) {
        return std::nullopt;
    }
    if (rest[0] == "--help" || rest[0] == "-h") {
        return mode::help;
    }
    return rest[0] == "--version" ? std::optional(mode::version) : std::nullopt;
}

bool names_server_arguments(const environment_map& environment) {
    return std::ranges::any_of(
        environment, [](const auto& variable) { return variable.first.starts_with("LLAMA_ARG_"); });
}

/// A forgotten "store" would start a tool of the system's, with its arguments.
bool is_store_command(std::string_view word) {
    constexpr std::array words = {"ls", "show", "verify", "gc", "rm", "pin", "unpin", "release"};
    return std::ranges::find(words, word) != words.end();
}

/// Splits what is not ours into SERVER and its arguments.
void place_rest(
    options& result, std::vector<std::string> rest, const environment_map& environment) {
    if (!rest.empty() && rest[0] == "--") {
        rest.erase(rest.begin());
    }
    if (!rest.empty() && !rest[0].starts_with('-')) {
        if (rest[0].empty()) {
            refuse_usage("The first argument is empty, where llama-server's path could stand.");
        }
        if (is_store_command(rest[0])) {
            refuse_usage(fmt::format(
                "There is no llama-server named {0}; did you mean \"llama-hibernate store {0}\"?",
                rest[0]));
        }
        result.server = expand_home({"SERVER", rest[0]}, environment).text;
        setting& known = setting_of(result, "server");
        known.value = result.server;
        known.source = "command line";
        rest.erase(rest.begin());
    }
    for (const auto& argument : rest) {
        if (argument == "--llama-binary" || argument.starts_with("--llama-binary=")) {
            refuse_usage(
                "--llama-binary is an option of llama-save-wrapper; here llama-server's path "
                "stands alone, before its arguments.");
        }
    }
    result.server_arguments = std::move(rest);
}

} // namespace

options read_options(
    const std::vector<std::string>& arguments,
    const environment_map& environment,
    const std::filesystem::path& system_file) {
    const bool says_run = !arguments.empty() && arguments[0] == "run";
    const std::vector<std::string> without_run(
        arguments.begin() + (says_run ? 1 : 0), arguments.end());
    // A container may configure llama-server by its environment alone.
    if (without_run.empty() && !names_server_arguments(environment)) {
        refuse_usage("There is nothing to run: give llama-server's arguments, as in "
                     "\"llama-hibernate -m model.gguf\"; llama-hibernate --help says more.");
    }
    command_line line = take_apart(without_run);

    options result;
    const bool is_store = !line.rest.empty() && line.rest[0] == "store";
    const bool is_status = !line.rest.empty() && line.rest[0] == "status";
    if (!says_run && (is_store || is_status)) {
        result.mode = is_store ? mode::store : mode::status;
        result.command_arguments.assign(line.rest.begin() + 1, line.rest.end());
        line.rest.clear();
    }
    if (const std::optional<mode> asked = asked_for(line.rest)) {
        result.mode = *asked;
        return result;
    }

    const std::vector<option_value> from_environment = environment_values(environment);
    const std::filesystem::path file =
        configuration_file(from_environment, line.ours, environment, system_file);
    result.settings = default_settings(file);
    if (!file.empty()) {
        for (const option_value& value : read_configuration_file(file)) {
            set(result, value, "file " + file.string(), environment);
        }
    }
    for (const option_value& value : from_environment) {
        set(result, value, "environment " + environment_name(*value.option), environment);
    }
    for (const option_value& value : line.ours) {
        set(result, value, "command line", environment);
    }
    place_rest(result, std::move(line.rest), environment);
    result.root_is_named = !result.root.empty();
    result.root = make_absolute(result.root_is_named ? result.root : default_root(environment));
    setting_of(result, "dir").value = result.root.string();
    if (line.print_configuration) {
        result.mode = mode::print_configuration;
    }
    result.remarks = unknown_variables(environment);
    return result;
}

} // namespace hibernate::app

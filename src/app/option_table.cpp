#include "option_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {
namespace {

std::string text_of(const given_value& given) {
    // A system call would see the text before the NUL only.
    if (given.text.empty() || given.text.find('\0') != std::string::npos) {
        refuse(given, "it must be a text that is not empty");
    }
    return given.text;
}

std::chrono::milliseconds time_of(const given_value& given) {
    const std::optional<std::chrono::milliseconds> time = parse_duration(given.text);
    if (!time) {
        refuse(
            given, "it must be a time such as 500ms, 8s, 3m, 1h or 1d (a bare number is seconds)");
    }
    return *time;
}

std::uint64_t bytes_of(const given_value& given) {
    const std::optional<std::uint64_t> bytes = parse_bytes(given.text);
    if (!bytes) {
        refuse(given, "it must be a size such as 512MiB, 16GiB or 1TiB (a bare number is bytes)");
    }
    return *bytes;
}

std::size_t count_of(const given_value& given, std::size_t lowest, std::size_t highest) {
    std::size_t value = 0;
    const char* end = given.text.data() + given.text.size();
    const auto [stopped, error] = std::from_chars(given.text.data(), end, value);
    if (error != std::errc{} || stopped != end || value < lowest || value > highest) {
        refuse(given, fmt::format("it must be a whole number from {} to {}", lowest, highest));
    }
    return value;
}

template <typename T>
struct choice {
    std::string_view word;
    T value;
};

template <typename T, std::size_t count>
T choice_of(const given_value& given, const choice<T> (&choices)[count]) {
    std::string allowed;
    for (std::size_t i = 0; i < count; ++i) {
        if (given.text == choices[i].word) {
            return choices[i].value;
        }
        allowed += i == 0 ? "" : i + 1 == count ? " or " : ", ";
        allowed += choices[i].word;
    }
    refuse(given, "it must be " + allowed);
}

constexpr std::array table = {
    option{
        .name = "dir",
        .value = "DIR",
        .default_value = "$CACHE_DIRECTORY, else $XDG_CACHE_HOME/llama-hibernate, else "
                         "~/.cache/llama-hibernate",
        .meaning = "Where the conversations are kept.",
        .set = [](options& into, const given_value& given) { into.root = text_of(given); },
        .is_path = true},
    option{
        .name = "name",
        .value = "NAME",
        .default_value = "the model's path",
        .meaning = "Names the model's folder in DIR; llama-swap's ${MODEL_ID}, say.",
        .set = [](options& into, const given_value& given) { into.name = text_of(given); }},
    option{
        .name = "server",
        .value = "PROGRAM",
        .default_value = "llama-server beside this program, else on PATH",
        .meaning = "The llama-server to run; SERVER on the command line outweighs it.",
        .set = [](options& into, const given_value& given) { into.server = text_of(given); },
        .is_path = true},
    option{
        .name = "max-disk",
        .value = "SIZE",
        .default_value = "16GiB",
        .meaning = "What DIR may hold, of all models; the least useful goes to make room.",
        .set = [](options& into, const given_value& given) { into.max_disk = bytes_of(given); }},
    option{
        .name = "min-free",
        .value = "SIZE",
        .default_value = "2GiB",
        .meaning = "What stays free on the disk of DIR, or nothing more is saved.",
        .set = [](options& into, const given_value& given) { into.min_free = bytes_of(given); }},
    option{
        .name = "stop-budget",
        .value = "TIME",
        .default_value = "8s",
        .meaning = "How long a stop may take, from the signal to our exit.",
        .set = [](options& into, const given_value& given) { into.stop_budget = time_of(given); }},
    option{
        .name = "drain",
        .value = "TIME",
        .default_value = "1s",
        .meaning = "How long requests in flight may go on after the signal to stop.",
        .set = [](options& into, const given_value& given) { into.drain = time_of(given); }},
    option{
        .name = "restore",
        .value = "all|slots|none",
        .default_value = "all",
        .meaning =
            "What is restored at start: as many conversations as llama-server's slots and its "
            "RAM cache\n      take, one for each slot, or none.",
        .set =
            [](options& into, const given_value& given) {
                into.restore = choice_of<restore_extent>(
                    given, {{"all", restore_extent::all},
                            {"slots", restore_extent::slots},
                            {"none", restore_extent::none}});
            }},
    option{
        .name = "adopt",
        .value = "DIR",
        .default_value = "none",
        .meaning =
            "A folder of {slot}.bin files that llama-server saved, as llama-save-wrapper has them: "
            "at the\n      start those that the model turns out to have written are taken into the "
            "store.",
        .set = [](options& into, const given_value& given) { into.adopt = text_of(given); },
        .is_path = true},
    option{
        .name = "boundary",
        .value = "auto|always|never",
        .default_value = "auto",
        .meaning =
            "Whether the prompt of a conversation is saved a second time without its last reply, "
            "for models\n      that reuse a saved state only as a whole; auto: where that is so.",
        .set =
            [](options& into, const given_value& given) {
                into.boundary = choice_of<keeper::boundary_choice>(
                    given, {{"auto", keeper::boundary_choice::automatic},
                            {"always", keeper::boundary_choice::always},
                            {"never", keeper::boundary_choice::never}});
            }},
    option{
        .name = "restore-memory",
        .value = "SIZE",
        .default_value = "--cache-ram, at most a quarter of the available memory",
        .meaning = "How much may be restored into llama-server's RAM cache.",
        .set = [](options& into,
                  const given_value& given) { into.restore_memory = bytes_of(given); }},
    option{
        .name = "idle-save",
        .value = "TIME",
        .default_value = "3s",
        .meaning =
            "A changed slot is saved when nothing was asked for so long; 0: not before another"
            "\n      conversation takes it, or we stop.",
        .set = [](options& into, const given_value& given) { into.idle_save = time_of(given); }},
    option{
        .name = "write-budget",
        .value = "SIZE",
        .default_value = "0",
        .meaning =
            "What idle saves of a model may write in a day; 0: no bound. What another\n      "
            "conversation would displace, and what is left at a stop, is saved all the same.",
        .set = [](options& into,
                  const given_value& given) { into.write_budget = bytes_of(given); }},
    option{
        .name = "min-tokens",
        .value = "N",
        .default_value = "256",
        .meaning = "Conversations of fewer tokens are not saved.",
        .set =
            [](options& into, const given_value& given) {
                into.min_tokens = count_of(given, 1, 1'000'000'000);
            }},
    option{
        .name = "restore-budget",
        .value = "TIME",
        .default_value = "10s",
        .meaning = "How long restoring may take; then we serve with what is restored.",
        .set = [](options& into,
                  const given_value& given) { into.restore_budget = time_of(given); }},
    option{
        .name = "health-hold",
        .value = "TIME",
        .default_value = "4s",
        .meaning = "How long a /health request may wait for us to be ready before it gets a 503.",
        .set = [](options& into, const given_value& given) { into.health_hold = time_of(given); }},
    option{
        .name = "internal",
        .value = "tcp|unix",
        .default_value = "tcp",
        .meaning =
            "How llama-server is reached: on a loopback port, or on a Unix socket that nobody else"
            "\n      on the machine can open.",
        .set =
            [](options& into, const given_value& given) {
                into.internal_socket = choice_of<bool>(given, {{"tcp", false}, {"unix", true}});
            }},
    option{
        .name = "max-connections",
        .value = "N",
        .default_value = "1024",
        .meaning = "Client connections at once; beyond it they get a 503.",
        .set =
            [](options& into, const given_value& given) {
                into.max_connections = count_of(given, 1, 1'000'000);
            }},
    option{
        .name = "compat",
        .value = "build|format",
        .default_value = "build",
        .meaning =
            "What a snapshot must share with llama-server besides the model and the arguments: "
            "its build, or only the format of its slot files.",
        .set =
            [](options& into, const given_value& given) {
                into.any_build = choice_of<bool>(given, {{"build", false}, {"format", true}});
            }},
    option{
        .name = "half-close",
        .value = "abort|keep",
        .default_value = "abort",
        .meaning =
            "A client that closes its sending side has gone (abort), or still listens (keep).",
        .set =
            [](options& into, const given_value& given) {
                into.half_close_keeps = choice_of<bool>(given, {{"abort", false}, {"keep", true}});
            }},
    option{
        .name = "on-exit",
        .value = "exit|restart",
        .default_value = "exit",
        .meaning = "When llama-server dies by itself: exit with its status, or start it again.",
        .set =
            [](options& into, const given_value& given) {
                into.restart_on_exit = choice_of<bool>(given, {{"exit", false}, {"restart", true}});
            }},
    option{
        .name = "log-level",
        .value = "LEVEL",
        .default_value = "info",
        .meaning = "debug, info, warning, error or off: our own lines, not llama-server's.",
        .set =
            [](options& into, const given_value& given) {
                into.log_level = choice_of<log::level>(
                    given, {{"debug", log::level::debug},
                            {"info", log::level::info},
                            {"warning", log::level::warning},
                            {"error", log::level::error},
                            {"off", log::level::off}});
            }},
    option{
        .name = "log-format",
        .value = "text|json",
        .default_value = "text",
        .meaning =
            "How our own lines are written. In systemd's journal each has its priority, and text "
            "no time.",
        .set =
            [](options& into, const given_value& given) {
                into.log_format = choice_of<log::format>(
                    given, {{"text", log::format::text}, {"json", log::format::json}});
            }},
    option{
        .name = "config",
        .value = "FILE",
        .default_value = "$XDG_CONFIG_HOME/llama-hibernate/config.json, else "
                         "/etc/llama-hibernate/config.json",
        .meaning = "The configuration file: a JSON object of these names and their values; it may "
                   "have comments\n      (// and /* */).",
        .set = nullptr,
        .is_path = true},
    option{
        .name = "print-config",
        .value = "",
        .default_value = "",
        .meaning = "Prints the value of each option and where it comes from, and exits.",
        .set = nullptr},
};

/// Levenshtein's distance: how many letters to insert, remove or replace.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

constexpr std::string_view usage =
    R"(llama-hibernate keeps llama-server's conversations across restarts.

Usage:
  llama-hibernate [run] [OPTION VALUE]... [SERVER] [llama-server's own arguments]...
  llama-hibernate store ls|show|verify|gc|rm|pin|unpin|release ...
  llama-hibernate status [URL] [--json]
  llama-hibernate --help | --version

  It stands where llama-server stood, and takes llama-server's arguments:
    llama-hibernate -m model.gguf --port 8080
    llama-hibernate /opt/llama.cpp/llama-server -m model.gguf --port 8080

  SERVER is the llama-server to run; it stands before its arguments. Whatever does not begin with
  --hibernate- goes to llama-server as it is, --help and --version too unless they stand alone.

Options, wherever they stand, as --hibernate-x VALUE or --hibernate-x=VALUE. The command line counts
before the environment, and the environment before the configuration file. "~/" at the beginning of
a path is your home directory. A time is 500ms, 8s, 3m, 1h or 1d; a bare number is seconds. A size is
512MiB, 16GiB or 1TiB; a bare number is bytes.
)";

} // namespace

void refuse(const given_value& given, std::string_view allowed) {
    throw startup_error(
        fmt::format("{} is \"{}\"; {}.", given.source, given.text, allowed), exit_status::usage);
}

std::span<const option> option_table() {
    return table;
}

const option* find_option(std::string_view name) {
    const auto found = std::ranges::find(table, name, &option::name);
    return found == table.end() ? nullptr : &*found;
}

std::optional<std::string_view> nearest_option(std::string_view name) {
    const option* nearest = nullptr;
    std::size_t least = 0;
    for (const option& candidate : table) {
        const std::size_t distance = edit_distance(name, candidate.name);
        if (!nearest || distance < least) {
            nearest = &candidate;
            least = distance;
        }
    }
    // Beyond half of the letters the likeness is chance.
    if (least * 2 > std::max(name.size(), nearest->name.size())) {
        return std::nullopt;
    }
    return nearest->name;
}

std::optional<std::string_view> nearest_command(std::string_view word) {
    constexpr std::array<std::string_view, 4> commands = {"status", "store", "--help", "--version"};
    constexpr std::size_t slips = 2;
    for (const auto command : commands) {
        if (edit_distance(word, command) <= slips) {
            return command;
        }
    }
    return std::nullopt;
}

std::string environment_name(const option& option) {
    std::string name(environment_prefix);
    for (const char letter : option.name) {
        name += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
    }
    return name;
}

std::string help_text() {
    std::string text(usage);
    for (const option& option : table) {
        if (is_flag(option)) {
            text +=
                fmt::format("\n  {}{}\n      {}\n", argument_prefix, option.name, option.meaning);
            continue;
        }
        text += fmt::format(
            "\n  {}{} {}\n      {}\n      default: {}\n      environment: {}", argument_prefix,
            option.name, option.value, option.meaning, option.default_value,
            environment_name(option));
        // The file cannot name the file.
        text += option.set ? fmt::format("   file: \"{}\"\n", option.name) : "\n";
    }
    return text;
}

} // namespace hibernate::app

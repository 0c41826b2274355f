#pragma once
// The one table of our options. The command line, the environment, the configuration file, the help
// text and the search for a name that was meant all read it.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "llama_hibernate/app/options.hpp"

namespace hibernate::app {

inline constexpr std::string_view argument_prefix = "--hibernate-";
inline constexpr std::string_view environment_prefix = "LLAMA_HIBERNATE_";

/// A value and where it stood: "--hibernate-drain", "LLAMA_HIBERNATE_DRAIN" or
/// "\"drain\" in /etc/llama-hibernate/config.json".
struct given_value {
    std::string source;
    std::string text;
};

/// Throws startup_error: which option, what was read, what is allowed.
[[noreturn]] void refuse(const given_value& given, std::string_view allowed);

struct option {
    std::string_view name;          ///< without the prefix: the key in the configuration file
    std::string_view value;         ///< what follows it, for the help: "TIME"; empty: nothing does
    std::string_view default_value; ///< for the help
    std::string_view meaning;       ///< for the help, a line of its own for each '\n'
    /// Reads the text into its place, or refuses it. Null: read elsewhere, and not from the file.
    void (*set)(options& into, const given_value& given);
    bool is_path = false; ///< "~/" at its beginning is the user's home
};

/// Whether it stands alone, on the command line only.
inline bool is_flag(const option& option) {
    return option.value.empty();
}

struct option_value {
    const app::option* option; ///< never null
    given_value given;
};

std::span<const option> option_table();

const option* find_option(std::string_view name); ///< null if there is none

/// The name that was probably meant, or nothing if none is near.
std::optional<std::string_view> nearest_option(std::string_view name);

/// The word of ours that it may be meant for, such as "status" for "statsu".
std::optional<std::string_view> nearest_command(std::string_view word);

/// "stop-budget" -> "LLAMA_HIBERNATE_STOP_BUDGET"
std::string environment_name(const option& option);

} // namespace hibernate::app

#pragma once
// llama-server's arguments that we must understand, in one table: how each is spelled, how many
// values follow it, its twin in the environment, and what it is to us.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hibernate::llama {

enum class argument_use {
    taken_over, ///< we do this in the child's place; the child gets our own value, or none
    read,       ///< passed on, and needed for our own calls
    model,      ///< names the model
    preset,     ///< a switch that names the model, and a port of its own
    prints,     ///< llama-server prints something and exits
    state,      ///< changes what a saved slot means
};

enum class argument_values {
    none,
    one,
    two,
    choice_or_none, ///< one of a few words; older builds had a switch without a value
    file_and_scale, ///< FILE:SCALE,...; older builds took FILE SCALE
};

/// Which files a value names; what counts of them is their content.
enum class named_files {
    none,
    one,
    list,        ///< FILE,FILE,...
    scaled_list, ///< FILE:SCALE,...
};

struct known_argument {
    std::string_view name; ///< canonical, without dashes; two arguments of one name set one thing
    std::string_view spellings; ///< with dashes, separated by spaces
    argument_use use;
    argument_values values = argument_values::none;
    std::string_view environment{}; ///< its twin
    std::string_view negations{};   ///< of a switch: the spellings that turn it off
    bool accumulates = false;       ///< repeated ones add up; otherwise the last one counts
    std::string_view default_value{};
    /// One spelling for all that llama-server treats alike; null: values are compared as they are.
    std::string (*normalise)(std::string_view value) = nullptr;
    std::string_view port{}; ///< of a preset
    named_files files = named_files::none;
};

std::span<const known_argument> known_arguments();

struct spelled_argument {
    const known_argument* argument; ///< never null
    bool negated;
};

/// Exact names only, but with underscores for dashes after "--", as llama-server allows.
std::optional<spelled_argument> find_argument(std::string_view as_given);

/// How many of the arguments that follow are its values; more than there are if some are missing.
std::size_t count_values(const known_argument& argument, std::span<const std::string> following);

/// As llama-server reads a switch in the environment.
bool is_truthy(std::string_view value);

/// One spelling for all that mean the same number; a text that is none as it is.
std::string same_number(std::string_view value);

/// The name of the variable that turns a switch off: LLAMA_ARG_NO_X for LLAMA_ARG_X.
std::string negated_environment_name(std::string_view environment);

} // namespace hibernate::llama

#include "configuration_file.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "llama_hibernate/base/error.hpp"

namespace hibernate::app {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_file(const std::filesystem::path& file, std::string_view why) {
    const char* end = why.ends_with('?') ? "" : ".";
    throw startup_error(
        fmt::format("The configuration file {} {}{}", file.string(), why, end), exit_status::usage);
}

std::string read_text(const std::filesystem::path& file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
        refuse_file(file, "is a directory");
    }
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream.is_open()) {
        const std::error_code reason(errno, std::generic_category());
        refuse_file(file, "cannot be read: " + reason.message());
    }
    std::ostringstream text;
    text << stream.rdbuf();
    if (text.bad() || stream.bad()) {
        refuse_file(file, "cannot be read to its end");
    }
    return text.str();
}

/// Where in the text a byte is, as editors count: from 1.
std::string position(std::string_view text, std::size_t byte) {
    std::size_t line = 1;
    std::size_t column = 1;
    for (const char letter : text.substr(0, byte)) {
        column = letter == '\n' ? 1 : column + 1;
        line += letter == '\n' ? 1 : 0;
    }
    return fmt::format("line {}, column {}", line, column);
}

json parse(const std::filesystem::path& file, const std::string& text) {
    try {
        constexpr bool comments = true;
        return json::parse(text, nullptr, true, comments);
    } catch (const json::parse_error& error) {
        // It counts the byte that it stumbled over from 1.
        const std::size_t before = error.byte > 0 ? error.byte - 1 : 0;
        refuse_file(file, "is not valid JSON, at " + position(text, before));
    }
}

std::string
value_text(const std::filesystem::path& file, const std::string& key, const json& value) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    if (!value.is_number() && !value.is_boolean()) {
        refuse_file(
            file,
            fmt::format(
                "has a value for \"{}\" that is neither a string nor a number nor a boolean", key));
    }
    return value.dump();
}

const option& option_of_key(const std::filesystem::path& file, const std::string& key) {
    const option* found = find_option(key);
    if (found && !found->set) {
        refuse_file(
            file, fmt::format(
                      "cannot set \"{}\", which is for the command line{}", key,
                      is_flag(*found) ? "" : " and the environment"));
    }
    if (!found) {
        const std::optional<std::string_view> nearest = nearest_option(key);
        refuse_file(
            file, fmt::format("has a key \"{}\" that is no option", key) +
                      (nearest ? fmt::format("; did you mean \"{}\"?", *nearest)
                               : "; llama-hibernate --help lists them"));
    }
    return *found;
}

} // namespace

std::vector<option_value> read_configuration_file(const std::filesystem::path& file) {
    const json document = parse(file, read_text(file));
    if (!document.is_object()) {
        refuse_file(file, "does not hold a JSON object, such as {\"stop-budget\": \"8s\"}");
    }
    std::vector<option_value> values;
    for (const auto& [key, value] : document.items()) {
        const option& option = option_of_key(file, key);
        values.push_back(
            {&option,
             {fmt::format("\"{}\" in {}", key, file.string()), value_text(file, key, value)}});
    }
    return values;
}

} // namespace hibernate::app

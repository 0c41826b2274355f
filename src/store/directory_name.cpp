#include "llama_hibernate/store/directory_name.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "llama_hibernate/base/hash.hpp"

namespace hibernate::store {

namespace {

constexpr std::size_t hash_digits = 8;
constexpr std::size_t max_readable_bytes = 71; ///< 80 with the hash and the hyphen before it

bool is_letter_or_digit(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
}

/// Plain ASCII that no file system, shell or tool minds: everything else is shown as "_". Nothing
/// hidden, nothing that looks like an option, and no "..".
std::string tame(std::string_view text) {
    std::string tamed;
    for (const char byte : text) {
        const char before = tamed.empty() ? '_' : tamed.back();
        const bool is_joint = (byte == '-' || byte == '.') && before != '_' && before != '.';
        if (is_letter_or_digit(byte) || is_joint) {
            tamed += byte;
        } else if (tamed.empty() || before != '_') {
            tamed += '_';
        }
        if (tamed.size() == max_readable_bytes) {
            break;
        }
    }
    return tamed.empty() ? "model" : tamed;
}

/// "/models/qwen3-8b.gguf" and "org/qwen3-8b" are both known as "qwen3-8b".
std::string_view readable_part(std::string_view model) {
    constexpr std::string_view extension = ".gguf";
    model.remove_prefix(std::min(model.size(), model.rfind('/') + 1));
    if (model.size() > extension.size() && model.ends_with(extension)) {
        model.remove_suffix(extension.size());
    }
    return model;
}

} // namespace

std::string directory_name(std::string_view model, std::string_view given_name) {
    const bool given = !given_name.empty();
    const auto full_name = given ? given_name : model;
    return fmt::format(
        "{}-{}", tame(given ? given_name : readable_part(model)),
        hash64_hex(full_name).substr(0, hash_digits));
}

bool is_directory_name(std::string_view name) {
    if (name.size() < hash_digits + 2) {
        return false;
    }
    const auto hash = name.substr(name.size() - hash_digits);
    return name[name.size() - hash_digits - 1] == '-' &&
           hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view name_in(std::string_view directory) {
    return directory.substr(0, directory.rfind('-'));
}

} // namespace hibernate::store

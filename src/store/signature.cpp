#include "llama_hibernate/store/signature.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "llama_hibernate/base/hash.hpp"

namespace hibernate::store {

namespace {

const std::string* find_part(const signature& from, const std::string& name) {
    const auto part = from.parts.find(name);
    return part == from.parts.end() ? nullptr : &part->second;
}

bool counts(const std::string& name, const signature& now) {
    return (name != build_part && name != state_version_part) || now.parts.contains(name);
}

bool differs(const std::string& name, const signature& saved, const signature& now) {
    const auto* before = find_part(saved, name);
    const auto* after = find_part(now, name);
    const bool equal = before && after ? *before == *after : before == after;
    return !equal && counts(name, now);
}

/// For a log line, which must stay short.
std::string shortened(const std::string& text) {
    constexpr std::size_t enough = 80;
    return text.size() <= enough ? text : text.substr(0, enough) + "...";
}

/// Contents' hashes say nothing to people, but enough digits to tell two of them apart.
std::string shorten_hashes(std::string_view value) {
    constexpr std::size_t hash_digits = 32;
    constexpr std::size_t told_digits = 8;
    const auto is_digit = [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    };
    std::string text;
    while (!value.empty()) {
        const auto end = std::find_if_not(value.begin(), value.end(), is_digit);
        const auto length = static_cast<std::size_t>(end - value.begin());
        text +=
            value.substr(0, length == hash_digits ? told_digits : std::max<std::size_t>(length, 1));
        value.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
}

std::string describe_part(const signature& from, const std::string& name) {
    const auto* part = find_part(from, name);
    if (part == nullptr) {
        return "default";
    }
    return part->empty() ? "\"\"" : shortened(shorten_hashes(*part));
}

std::set<std::string> names_of_both(const signature& saved, const signature& now) {
    std::set<std::string> names;
    for (const auto* side : {&saved, &now}) {
        for (const auto& [name, value] : side->parts) {
            names.insert(name);
        }
    }
    return names;
}

} // namespace

std::string signature::hash() const {
    hasher128 digest;
    for (const auto& [name, value] : parts) {
        // With its length before it, no text can pass for the end of one part and the next.
        digest.update(fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value));
    }
    return digest.hex();
}

std::vector<difference> list_differences(const signature& saved, const signature& now) {
    std::vector<difference> differences;
    for (const auto& name : names_of_both(saved, now)) {
        if (differs(name, saved, now)) {
            const auto part = shortened(name);
            differences.push_back(
                {part,
                 fmt::format(
                     "{} {}, now {}", part, describe_part(saved, name), describe_part(now, name))});
        }
    }
    return differences;
}

bool compatible(const signature& saved, const signature& now) {
    const auto names = names_of_both(saved, now);
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
        return differs(name, saved, now);
    });
}

std::string explain_difference(const signature& saved, const signature& now) {
    std::vector<std::string> texts;
    for (auto& one : list_differences(saved, now)) {
        texts.push_back(std::move(one.text));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
}

} // namespace hibernate::store

#include "llama_hibernate/store/signature.hpp"

#include <set>

#include <fmt/core.h>

#include "llama_hibernate/base/hash.hpp"

namespace hibernate::store {

namespace {

std::string part_or_default(const signature& from, const std::string& name) {
    const auto part = from.parts.find(name);
    if (part == from.parts.end()) {
        return "default";
    }
    return part->second.empty() ? "\"\"" : part->second;
}

/// For a log line, which must stay short.
std::string shortened(const std::string& text) {
    constexpr std::size_t enough = 80;
    return text.size() <= enough ? text : text.substr(0, enough) + "...";
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

std::string explain_difference(const signature& saved, const signature& now) {
    std::set<std::string> names;
    for (const auto& side : {&saved, &now}) {
        for (const auto& [name, value] : side->parts) {
            names.insert(name);
        }
    }
    std::string explanation;
    for (const auto& name : names) {
        const auto before = part_or_default(saved, name);
        const auto after = part_or_default(now, name);
        if (before != after) {
            explanation += fmt::format(
                "{}{} {}, now {}", explanation.empty() ? "" : "; ", shortened(name),
                shortened(before), shortened(after));
        }
    }
    return explanation;
}

} // namespace hibernate::store

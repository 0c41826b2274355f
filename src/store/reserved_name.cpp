#include "llama_hibernate/store/reserved_name.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "llama_hibernate/store/manifest.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

namespace {

std::string lower_case(std::string_view name) {
    std::string lower(name);
    for (char& letter : lower) {
        letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    return lower;
}

} // namespace

bool is_reserved_name(std::string_view name) {
    const std::string lower = lower_case(name);
    const std::string_view stem = std::string_view(lower).substr(0, lower.find('.'));
    constexpr std::array<std::string_view, 2> kinds{"staging-", "quarantine"};
    return is_snapshot_id(stem) || stem == lock_name || stem == written_name ||
           stem == stopped_name || stem == adopted_name ||
           std::any_of(
               kinds.begin(), kinds.end(), [&](auto kind) { return lower.starts_with(kind); });
}

} // namespace hibernate::store

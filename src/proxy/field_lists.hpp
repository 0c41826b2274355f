#pragma once
// Lists in field values: "a, b" and the like.

#include <string_view>

namespace hibernate::proxy {

inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view white = " \t";
    const auto first = text.find_first_not_of(white);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(white) - first + 1);
}

/// Calls on_item for each item of a comma-separated list; empty items are skipped.
template <typename OnItem>
void for_each_item(std::string_view list, OnItem&& on_item) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        const auto item = trimmed(list.substr(0, comma));
        if (!item.empty()) {
            on_item(item);
        }
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
}

} // namespace hibernate::proxy

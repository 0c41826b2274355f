#pragma once
// The fields of a head, in their order, as they came.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/beast/core/string.hpp>

namespace hibernate::proxy {

/// Field names, and tokens, are the same in any case.
inline bool same_name(std::string_view left, std::string_view right) {
    return boost::beast::iequals({left.data(), left.size()}, {right.data(), right.size()});
}

struct field {
    std::string_view name;
    std::string_view value; ///< without the white space around it
};

/// The bytes that the fields view belong to their head. A head has so few of them that looking at
/// each is quicker than an index.
class field_list {
public:
    void reserve(std::size_t count) { all_.reserve(count); }
    void append(std::string_view name, std::string_view value) { all_.push_back({name, value}); }

    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

    /// Calls on_value for each field of that name (any case).
    template <typename OnValue>
    void for_each(std::string_view name, OnValue&& on_value) const {
        for (const auto& one : all_) {
            if (same_name(one.name, name)) {
                on_value(one.value);
            }
        }
    }

    std::size_t count(std::string_view name) const {
        std::size_t found = 0;
        for_each(name, [&](std::string_view) { ++found; });
        return found;
    }

    std::optional<std::string_view> first(std::string_view name) const {
        for (const auto& one : all_) {
            if (same_name(one.name, name)) {
                return one.value;
            }
        }
        return std::nullopt;
    }

private:
    std::vector<field> all_;
};

} // namespace hibernate::proxy

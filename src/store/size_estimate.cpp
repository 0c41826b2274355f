#include "llama_hibernate/store/size_estimate.hpp"

#include <algorithm>
#include <vector>

namespace hibernate::store {

namespace {

constexpr double longest_stretch = 8;

struct measured {
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
};

std::vector<measured>
collect(const inventory& stored, const std::string& directory, const signature& wanted) {
    std::vector<measured> files;
    for (const auto& item : stored.items) {
        // What a file measures does not depend on whether its content can be trusted.
        const bool whole =
            item.what == stored_item::kind::snapshot || item.what == stored_item::kind::quarantined;
        if (whole && item.directory == directory &&
            compatible(signature_of(*item.manifest), wanted)) {
            files.push_back({item.manifest->tokens, item.bytes});
        }
    }
    return files;
}

std::uint64_t along_the_line(const measured& few, const measured& many, std::uint64_t tokens) {
    const auto to_double = [](std::uint64_t value) { return static_cast<double>(value); };
    double bytes = 0;
    if (few.tokens == many.tokens) {
        const double times = to_double(tokens) / to_double(many.tokens);
        bytes = to_double(many.bytes) * std::min(times, longest_stretch);
    } else {
        const double slope = std::max(0.0, to_double(many.bytes) - to_double(few.bytes)) /
                             to_double(many.tokens - few.tokens);
        bytes = to_double(few.bytes) + slope * (to_double(tokens) - to_double(few.tokens));
    }
    constexpr double most = 1e18;
    return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, most));
}

} // namespace

std::optional<std::uint64_t> estimate_size(
    const inventory& stored,
    const std::string& directory,
    const signature& now,
    std::optional<std::uint64_t> tokens) {
    auto files = collect(stored, directory, now);
    if (files.empty()) {
        auto any_build = now;
        any_build.parts.erase(build_part);
        files = collect(stored, directory, any_build);
    }
    if (files.empty()) {
        return std::nullopt;
    }
    if (!tokens) {
        return std::max_element(
                   files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; })
            ->bytes;
    }
    // Of those with as many tokens the larger file counts.
    const auto [few, many] =
        std::minmax_element(files.begin(), files.end(), [](const auto& a, const auto& b) {
            return a.tokens != b.tokens ? a.tokens < b.tokens : a.bytes < b.bytes;
        });
    return along_the_line(*few, *many, *tokens);
}

} // namespace hibernate::store

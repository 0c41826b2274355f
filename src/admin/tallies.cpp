#include "llama_hibernate/admin/tallies.hpp"

#include <algorithm>
#include <numeric>

namespace hibernate::admin {

histogram::histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

void histogram::note(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<std::size_t>(bucket - bounds_.begin())];
    sum_ += value;
}

std::uint64_t histogram::count_up_to(std::size_t bound) const {
    const auto end = counts_.begin() + static_cast<std::ptrdiff_t>(bound) + 1;
    return std::accumulate(counts_.begin(), end, std::uint64_t{0});
}

} // namespace hibernate::admin

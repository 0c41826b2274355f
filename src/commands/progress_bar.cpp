#include "llama_hibernate/commands/progress_bar.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "llama_hibernate/base/size.hpp"

namespace hibernate::commands {

std::string progress_line(std::uint64_t done, std::uint64_t all, std::size_t columns) {
    constexpr std::size_t longest_bar = 40;
    constexpr std::size_t shortest_bar = 5;
    done = std::min(done, all);
    const double part = all == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(all);
    const auto numbers = fmt::format(
        "{:3}%  {} of {}", static_cast<int>(part * 100), format_bytes(done), format_bytes(all));
    const auto frame = numbers.size() + 3; // the brackets and a space
    if (columns < frame + shortest_bar) {
        return numbers.substr(0, columns);
    }
    const auto bar = std::min(columns - frame, longest_bar);
    const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar));
    return fmt::format(
        "[{}{}] {}", std::string(filled, '#'), std::string(bar - filled, ' '), numbers);
}

} // namespace hibernate::commands

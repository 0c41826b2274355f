#include "llama_hibernate/base/size.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

namespace hibernate {

namespace {

struct unit {
    std::string_view name; // lower case
    double factor;
};

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? char(letter + 32) : letter;
}

bool equal_ignoring_case(std::string_view text, std::string_view lower_case) {
    if (text.size() != lower_case.size()) {
        return false;
    }
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (lower(text[i]) != lower_case[i]) {
            return false;
        }
    }
    return true;
}

/// A decimal number without sign or exponent, times the factor of the unit that follows it.
template <std::size_t N>
std::optional<double> parse_with_unit(std::string_view text, const std::array<unit, N>& units) {
    const auto digits = text.find_first_not_of("0123456789.");
    const auto number = text.substr(0, digits);
    const auto name = digits == std::string_view::npos ? std::string_view{} : text.substr(digits);

    double value = 0;
    const auto* const begin = number.data();
    const auto* const end = begin + number.size();
    const auto [stop, error] = std::from_chars(begin, end, value, std::chars_format::fixed);
    if (error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    for (const auto& candidate : units) {
        if (equal_ignoring_case(name, candidate.name)) {
            return value * candidate.factor;
        }
    }
    return std::nullopt;
}

constexpr double kib = 1024.0;
constexpr std::array byte_units{
    unit{"", 1},
    unit{"b", 1},
    unit{"kib", kib},
    unit{"mib", kib* kib},
    unit{"gib", kib* kib* kib},
    unit{"tib", kib* kib* kib* kib}};

// In milliseconds.
constexpr std::array time_units{unit{"", 1e3},  unit{"ms", 1},    unit{"s", 1e3},
                                unit{"m", 6e4}, unit{"h", 3.6e6}, unit{"d", 8.64e7}};

constexpr double ten_years_ms = 3650 * 8.64e7;

} // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    const auto value = parse_with_unit(text, byte_units);
    if (!value || *value >= 0x1p63) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*value);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    const auto value = parse_with_unit(text, time_units);
    if (!value || *value > ten_years_ms) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::llround(*value)));
}

std::string format_bytes(std::uint64_t bytes) {
    if (bytes < 1024) {
        return fmt::format("{} B", bytes);
    }
    constexpr std::array names{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes) / kib;
    std::size_t step = 0;
    while (value >= 999.5 && step + 1 < names.size()) {
        value /= kib;
        ++step;
    }
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, names[step]);
}

std::string format_number(std::uint64_t number) {
    auto digits = std::to_string(number);
    constexpr std::size_t group = 3;
    for (auto at = digits.size(); at > group; at -= group) {
        digits.insert(at - group, 1, ',');
    }
    return digits;
}

std::string format_count(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string format_duration(std::chrono::milliseconds time) {
    const auto ms = time.count();
    if (ms < 1000) {
        return fmt::format("{} ms", ms);
    }
    if (ms < 99'950) {
        return fmt::format("{:.1f} s", static_cast<double>(ms) / 1e3);
    }
    const auto seconds = (ms + 500) / 1000;
    return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

} // namespace hibernate

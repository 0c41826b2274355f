#pragma once
// Sizes and times as people write them in options, configuration files and logs.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hibernate {

/// Bytes from "16GiB", "512MiB", "64KiB", "1TiB" or a bare number of bytes; case does not matter,
/// fractions do ("1.5GiB"). Nothing for anything else: a sign, an unknown unit, an overflow.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A time from "500ms", "8s", "3m", "1h", "2d" or a bare number of seconds; fractions are allowed.
/// Nothing for anything else: a sign, an unknown unit, more than ten years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// "1.5 GiB", "482 KiB", "36 B": three significant digits.
std::string format_bytes(std::uint64_t bytes);

/// "61,204": digits in groups of three.
std::string format_number(std::uint64_t number);

/// "1 snapshot", "2 snapshots".
std::string format_count(std::uint64_t count, std::string_view one, std::string_view many);

/// "85 ms", "1.2 s", "3 min 20 s".
std::string format_duration(std::chrono::milliseconds time);

} // namespace hibernate

#pragma once
// How much memory this machine can give.

#include <cstdint>
#include <optional>
#include <string_view>

namespace hibernate {

/// Bytes that can be had without swapping, as Linux estimates it: what is free, and file caches
/// that may go. Nothing where the system does not say.
std::optional<std::uint64_t> available_memory();

/// The same from the text of /proc/meminfo.
std::optional<std::uint64_t> parse_available_memory(std::string_view meminfo);

} // namespace hibernate

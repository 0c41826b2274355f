#include "llama_hibernate/base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "llama_hibernate/base/platform.hpp"

namespace hibernate {

std::optional<std::uint64_t> available_memory() {
#if defined(HIBERNATE_LINUX)
    std::ifstream file("/proc/meminfo");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return parse_available_memory(text);
#else
    return std::nullopt;
#endif
}

std::optional<std::uint64_t> parse_available_memory(std::string_view meminfo) {
    constexpr std::string_view name = "MemAvailable:";
    constexpr std::uint64_t unit = 1024; // it says kB and means KiB
    auto at = meminfo.find(name);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    at = meminfo.find_first_not_of(' ', at + name.size());
    const auto text = meminfo.substr(std::min(at, meminfo.size()));
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || value > std::numeric_limits<std::uint64_t>::max() / unit) {
        return std::nullopt;
    }
    return value * unit;
}

} // namespace hibernate

#pragma once
// How far a long reading is, as one line for a terminal: pure.

#include <cstddef>
#include <cstdint>
#include <string>

namespace hibernate::commands {

/// "[#######             ]  35%  1.2 GiB of 3.4 GiB", of at most so many columns, without a line
/// break. done may be beyond all: the rest was estimated.
std::string progress_line(std::uint64_t done, std::uint64_t all, std::size_t columns);

} // namespace hibernate::commands

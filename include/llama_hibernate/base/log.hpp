#pragma once
// Our own log: one line per event on stderr, which never waits for its reader.
//
// llama-swap reads our stderr through a pipe, and a reader that has stopped must not stop a save:
// when the pipe is full, lines are dropped and counted, and the count is logged as soon as there is
// room again. The child writes to the same stderr by itself; its lines never pass through here.

#include <string_view>

#include <fmt/core.h>

namespace hibernate::log {

enum class level { debug, info, warning, error, off };

/// Lines below this level are not written. The default is info.
void set_level(level lowest);

/// Where lines go: a file descriptor that stays the caller's. The default is stderr.
void set_descriptor(int descriptor);

/// Writes one line. Safe from any thread.
void write(level at, std::string_view line);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    write(level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    write(level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    write(level::error, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace hibernate::log

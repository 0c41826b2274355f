#pragma once
// Our own log: one line per event on stderr, which never waits for its reader.
//
// llama-swap reads our stderr through a pipe, and a reader that has stopped must not stop a save:
// when the pipe is full, lines are dropped and counted, and the count is logged as soon as there is
// room again. The child writes to the same stderr by itself; its lines never pass through here.

#include <initializer_list>
#include <string_view>

#include <fmt/core.h>

#include "llama_hibernate/base/log_fields.hpp"

namespace hibernate::log {

enum class level { debug, info, warning, error, off };

/// One line per event in both.
enum class format {
    text, ///< "2026-10-02 12:34:56.789 llama-hibernate info: saved slot 0; slot=0"
    json, ///< an object with "time" (UTC), "level", "message", and the event's fields
};

/// Lines below this level are not written. The default is info.
void set_level(level lowest);

/// The default is text. journal_stream is the variable JOURNAL_STREAM, which systemd sets: if it
/// names our stderr, lines are for the journal. They begin with their priority ("<6>") then, and
/// text has no time of its own.
void set_format(format how, std::string_view journal_stream);

/// Whether programs read our stderr: the journal, or whoever wants JSON.
bool is_for_programs();

/// Where lines go: a file descriptor that stays the caller's. The default is stderr.
void set_descriptor(int descriptor);

/// Writes one line: a sentence, and the figures in it for programs. Safe from any thread.
void write(level at, std::string_view sentence, std::initializer_list<field> fields = {});

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

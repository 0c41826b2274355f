#pragma once
// The figures and names of an event, which follow its sentence in the log for programs to read:
// "saved slot 0: 300 tokens; slot=0 tokens=300". Pure; log.hpp writes them.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace hibernate::log {

/// Units are in the name: "bytes", "save_ms" (a time is written in milliseconds). The names "time",
/// "level" and "message" are the line's own. What it refers to lasts as long as the call that it is
/// given to.
class field {
public:
    field(std::string_view name, std::string_view value) : name_(name), value_(value) {}
    field(std::string_view name, const std::string& value) : name_(name), value_(value) {}
    field(std::string_view name, const char* value) : name_(name), value_(value) {}
    template <std::integral Number>
    field(std::string_view name, Number value)
        : name_(name), value_(static_cast<std::int64_t>(value)) {}
    field(std::string_view name, std::chrono::milliseconds value) : field(name, value.count()) {}

    std::string_view name() const noexcept { return name_; }
    const std::variant<std::int64_t, std::string_view>& value() const noexcept { return value_; }

private:
    std::string_view name_;
    std::variant<std::int64_t, std::string_view> value_;
};

/// 'sentence; slot=0 model="a b"': a value is quoted, as in JSON, unless it is one plain word.
std::string render_text(std::string_view sentence, std::span<const field> fields);

/// '"sentence","slot":0,"model":"a b"': what follows "message": in a JSON object.
std::string render_json(std::string_view sentence, std::span<const field> fields);

// Whatever bytes are in them, both are one line of valid UTF-8 that does nothing to a terminal.

} // namespace hibernate::log

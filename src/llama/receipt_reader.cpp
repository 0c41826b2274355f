#include "llama_hibernate/llama/receipt_reader.hpp"

namespace hibernate::llama {

namespace {

constexpr std::string_view data_name = "data:";
constexpr std::string_view space = " \t\r\n";

} // namespace

void receipt_reader::feed(std::string_view decoded_body_bytes) {
    if (kind_ == body_kind::unknown) {
        const auto first = decoded_body_bytes.find_first_not_of(space);
        if (first == std::string_view::npos) {
            return;
        }
        const char byte = decoded_body_bytes[first];
        kind_ = byte == '{' || byte == '[' ? body_kind::json : body_kind::events;
        decoded_body_bytes.remove_prefix(first);
    }
    if (kind_ == body_kind::events) {
        feed_events(decoded_body_bytes);
        return;
    }
    document_.feed(decoded_body_bytes);
    result_ = document_.result();
}

void receipt_reader::feed_events(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto line_end = bytes.find('\n');
        feed_line(bytes.substr(0, line_end));
        if (line_end == std::string_view::npos) {
            return;
        }
        end_line();
        bytes.remove_prefix(line_end + 1);
    }
}

/// A part of one line, without its LF.
void receipt_reader::feed_line(std::string_view part) {
    if (line_is_empty_) {
        line_is_empty_ = part.find_first_not_of('\r') == std::string_view::npos;
    }
    while (line_has_data_ && name_seen_ < data_name.size() && !part.empty()) {
        line_has_data_ = part.front() == data_name[name_seen_];
        ++name_seen_;
        part.remove_prefix(1);
    }
    if (line_has_data_) {
        document_.feed(part);
    }
}

/// An empty line ends the event; its data may take several lines, though llama-server uses one.
void receipt_reader::end_line() {
    if (const auto told = document_.result()) {
        result_ = told;
    }
    if (line_is_empty_) {
        document_.restart();
    }
    line_is_empty_ = true;
    line_has_data_ = true;
    name_seen_ = 0;
}

} // namespace hibernate::llama

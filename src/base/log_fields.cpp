#include "llama_hibernate/base/log_fields.hpp"

#include <nlohmann/json.hpp>

#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::log {

namespace {

std::string quoted(std::string_view value) {
    return nlohmann::json(printable_text(value)).dump();
}

bool is_word(std::string_view value) {
    return !value.empty() && value.find_first_of(" \"=\\\t\r\n") == std::string_view::npos;
}

std::string render(const field& one, bool words_need_quotes) {
    if (const auto* number = std::get_if<std::int64_t>(&one.value())) {
        return std::to_string(*number);
    }
    const auto text = std::get<std::string_view>(one.value());
    return !words_need_quotes && is_word(text) ? printable_text(text) : quoted(text);
}

} // namespace

std::string render_text(std::string_view sentence, std::span<const field> fields) {
    auto text = printable_text(sentence);
    const char* separator = "; ";
    for (const auto& one : fields) {
        text += separator;
        text += one.name();
        text += '=';
        text += render(one, false);
        separator = " ";
    }
    return text;
}

std::string render_json(std::string_view sentence, std::span<const field> fields) {
    auto text = quoted(sentence);
    for (const auto& one : fields) {
        text += ',';
        text += quoted(one.name());
        text += ':';
        text += render(one, true);
    }
    return text;
}

} // namespace hibernate::log

#include "llama_hibernate/commands/table.hpp"

#include <algorithm>
#include <string_view>

#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::commands {

namespace {

std::size_t count_characters(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) {
        text.remove_prefix(first_character(text).bytes);
    }
    return count;
}

} // namespace

std::string lay_out(std::vector<table_row> rows, std::size_t left_columns) {
    std::vector<std::size_t> widths;
    for (auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = printable_text(row[i]);
            widths[i] = std::max(widths[i], count_characters(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            const std::string space(widths[i] - count_characters(row[i]), ' ');
            text += i < left_columns ? row[i] + space : space + row[i];
            text += "  ";
        }
        text += row.back() + "\n";
    }
    return text;
}

} // namespace hibernate::commands

#include <algorithm>

#include <fmt/format.h>

#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::app {

namespace {

std::string value_for_people(const setting& one) {
    return one.value.empty() ? "-" : printable_text(one.value);
}

} // namespace

std::string configuration_text(const options& from) {
    std::size_t name_width = 0;
    std::size_t value_width = 0;
    for (const setting& one : from.settings) {
        name_width = std::max(name_width, one.name.size());
        value_width = std::max(value_width, value_for_people(one).size());
    }
    std::string text;
    for (const setting& one : from.settings) {
        text += fmt::format(
            "{:{}}  {:{}}  {}\n", one.name, name_width, value_for_people(one), value_width,
            printable_text(one.source));
    }
    return text;
}

} // namespace hibernate::app

#pragma once

#include <string_view>

namespace hibernate::admin {

/// page.html
extern const std::string_view page_text;

} // namespace hibernate::admin

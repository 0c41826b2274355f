#pragma once
// GET /hibernate/: one page that needs nothing else, and shows the status as it changes.

#include <string>
#include <string_view>

namespace hibernate::admin {

/// HTML.
std::string_view page();

/// Its Content-Security-Policy: its own script and style run, by their digests, and nothing else;
/// it can be put into no frame, and speaks to the host that it came from alone.
const std::string& page_policy();

} // namespace hibernate::admin

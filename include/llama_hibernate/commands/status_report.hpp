#pragma once
// What `status` prints for people: pure, over the JSON of /hibernate/status. A field that is not
// there, because another version answers, is left out.

#include <string>
#include <string_view>

namespace hibernate::commands {

struct report_style {
    bool colours = false;
};

/// The state in the JSON of what is on disk, of which no daemon was asked.
inline constexpr const char* state_on_disk = "on disk";

/// Nothing of the text is taken on trust: names are made harmless for a terminal. Empty if the text
/// is no status.
std::string report_status(std::string_view json_text, const report_style& style);

} // namespace hibernate::commands

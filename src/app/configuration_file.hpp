#pragma once
// The configuration file: one flat JSON object, its keys the option names without their prefix.
// Comments are allowed in it, as in JavaScript.

#include <filesystem>
#include <string>
#include <vector>

#include "option_table.hpp"

namespace hibernate::app {

/// A string, a number or a boolean each, as text. Throws startup_error for a file that cannot be
/// read or is not such an object, and for a key that is no option, with the nearest right name.
std::vector<option_value> read_configuration_file(const std::filesystem::path& file);

} // namespace hibernate::app

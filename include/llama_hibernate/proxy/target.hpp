#pragma once
// Request targets as llama-server reads them. Whatever is allowed or refused by its path is judged
// on this reading, while the target itself goes to the child untouched.

#include <string>
#include <string_view>

namespace hibernate::proxy {

/// The path: authority of an absolute form, query and fragment cut off, then percent-decoded once
/// (with llama-server's own "%uXXXX" too), empty and dot segments resolved. Always begins with '/'
/// (but for "*"). It errs on the side of recognising a path: "//slots/0" reads as "/slots/0".
std::string path_as_served(std::string_view target);

/// What follows the first '?', raw; empty without one.
std::string_view query_of(std::string_view target);

} // namespace hibernate::proxy

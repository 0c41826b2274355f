#pragma once
// Request targets as llama-server reads them. Whatever is allowed or refused by its path is judged
// on this reading, while the target itself goes to the child untouched.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hibernate::proxy {

/// The path: authority of an absolute form, query and fragment cut off, then percent-decoded once
/// (with llama-server's own "%uXXXX" too), empty and dot segments resolved. Always begins with '/'
/// (but for "*"). It errs on the side of recognising a path: "//slots/0" reads as "/slots/0".
std::string path_as_served(std::string_view target);

/// A path that is not percent-encoded (an API prefix), with its empty and dot segments resolved in
/// the same way, and without a final slash: what path_as_served() begins with.
std::string prefix_as_served(std::string_view prefix);

/// What follows the first '?', raw; empty without one.
std::string_view query_of(std::string_view target);

/// Names and values of a query, decoded as those of a form are ('+' is a space), in order.
std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query);

} // namespace hibernate::proxy

#pragma once
// GET /hibernate/status, as JSON: pure. Times are RFC 3339 in UTC, sizes bytes, durations seconds;
// what is not known is null. Fields are added, and none is taken away or changed.

#include <string>

#include "llama_hibernate/admin/overview.hpp"

namespace hibernate::admin {

/// One line, with a line break at its end. Names that are no UTF-8 are mended.
std::string status_as_json(const overview& what);

} // namespace hibernate::admin

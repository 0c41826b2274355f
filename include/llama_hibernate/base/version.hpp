#pragma once

namespace hibernate {

/// Of this program, as the build names it: "0.1.0".
extern const char* const version;

} // namespace hibernate

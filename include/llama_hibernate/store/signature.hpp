#pragma once
// Everything that must be equal for a snapshot to be restored and mean the same, as named parts, so
// that a mismatch can be explained: "cache-type-k f16, now q8_0".

#include <map>
#include <string>

namespace hibernate::store {

/// "model" -> identity, "build" -> "b11669-Debian", "streams" -> "1", "cache-type-k" -> ...
struct signature {
    std::map<std::string, std::string> parts;

    /// Hex digits over all parts and their names.
    std::string hash() const;

    friend bool operator==(const signature&, const signature&) = default;
};

/// "cache-type-k f16, now q8_0; build b1, now b2"; a part that one of them lacks is "default".
std::string explain_difference(const signature& saved, const signature& now);

} // namespace hibernate::store

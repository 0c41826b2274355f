#pragma once
// Everything that must be equal for a snapshot to be restored and mean the same, as named parts, so
// that a mismatch can be explained: "cache-type-k f16, now q8_0".

#include <map>
#include <string>
#include <vector>

namespace hibernate::store {

/// "model" -> identity, "build" -> "b11669-Debian", "streams" -> "1", "cache-type-k" -> ...
struct signature {
    std::map<std::string, std::string> parts;

    /// Hex digits over all parts and their names.
    std::string hash() const;

    friend bool operator==(const signature&, const signature&) = default;
};

/// Parts that count only where they are asked for: whoever does without "build" takes a snapshot of
/// any build, and who does without "state-version" has another reason to trust the format.
inline constexpr const char* build_part = "build";
inline constexpr const char* state_version_part = "state-version";

struct difference {
    std::string part; ///< "cache-type-k"
    std::string text; ///< "cache-type-k f16, now q8_0"
};

/// Each part that keeps a snapshot that was saved under one signature from being restored under the
/// other; a part that one of them lacks is "default". Of content hashes the first digits are told.
std::vector<difference> list_differences(const signature& saved, const signature& now);

/// Whether there are none.
bool compatible(const signature& saved, const signature& now);

/// Their texts as one: "build b1, now b2; cache-type-k f16, now q8_0".
std::string explain_difference(const signature& saved, const signature& now);

} // namespace hibernate::store

#pragma once
// How large a coming snapshot will be: pure, over those that were measured already.
//
// A snapshot is a fixed part (recurrent state, checkpoints, the manifest) and so many bytes for
// each token. Two of them tell both: the line through the one of the fewest tokens and the one of
// the most. From one alone the size grows with the tokens, but never beyond eight times what was
// measured: a fixed part would be multiplied as well, and a save that never seems to fit would
// never be measured. So an estimate may be too low; the real size is checked after the save.

#include <cstdint>
#include <optional>
#include <string>

#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::store {

/// In bytes, from the snapshots in the model's directory that have this signature, or when there is
/// none, from those that differ in the build alone. Without a number of tokens it is the largest of
/// these. Nothing if nothing was measured.
std::optional<std::uint64_t> estimate_size(
    const inventory& stored,
    const std::string& directory,
    const signature& now,
    std::optional<std::uint64_t> tokens);

} // namespace hibernate::store

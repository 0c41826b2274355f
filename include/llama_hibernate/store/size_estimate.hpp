#pragma once
// How large the file of a coming save will be: pure, over the snapshots that were measured already.
//
// A state file is a fixed part (recurrent state, checkpoints) and so many bytes for each token.
// Two measured files tell both: the line through the one of the fewest tokens and the one of the
// most. From one alone the file grows with its tokens, but never beyond eight times what was
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
/// these files. Nothing if nothing was measured.
std::optional<std::uint64_t> estimate_size(
    const inventory& stored,
    const std::string& directory,
    const signature& now,
    std::optional<std::uint64_t> tokens);

} // namespace hibernate::store

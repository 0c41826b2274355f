#pragma once
// The media of a state file's head. The tokens hold -1 wherever an image or a recording is,
// whatever it shows; what tells two of them apart comes after the tokens:
//
//     u32 n_media, u32 first_token[n_media], n_media x { u32 bytes, data }, zeros up to a whole
//     word
//
// The data begin with what the medium takes in tokens, and hold a hash of its content.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llama_hibernate/llama/state_file.hpp"

namespace hibernate::llama {

/// The same for the first so many tokens alone: what the file of a conversation that ended there
/// would have. Empty where none of them is a media position. A section that is not as above is
/// taken as a whole, so that nothing which may differ passes for equal.
std::vector<std::int32_t> media_of_first(const state_file_head& head, std::size_t tokens);

} // namespace hibernate::llama

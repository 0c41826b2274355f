#pragma once
// Which model a file is, from its content: its size and a hash of its whole header and of sampled
// blocks, 64 evenly spread and two of each tensor, over all shards (name-00001-of-00003.gguf); a
// file of up to 16 MiB is hashed whole. A replaced file shows as another identity, a moved one does
// not. It costs some ten milliseconds for a model that was just loaded, however large it is.

#include <filesystem>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::llama {

/// Hex digits that differ when any shard differs, or the error of the shard that cannot be read.
/// Symbolic links are followed: the download caches of models are made of them. Any file will do:
/// an adapter, a projector; the first MiB stands for the header of one that is no GGUF.
io_result<std::string> identify_model(disk& disk, const std::filesystem::path& file);

/// What a model's name leads to. Model caches link the names of a model to files named by their
/// content, and our disk follows no link. What cannot be resolved comes back as it is, and shows as
/// an error when it is read.
std::filesystem::path follow_links(const std::filesystem::path& file);

/// All files of the model that this file is or begins, as far as names tell:
/// name-00001-of-00003.gguf and its siblings in their order, whichever of them is given; for any
/// other name the file alone.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& file);

} // namespace hibernate::llama

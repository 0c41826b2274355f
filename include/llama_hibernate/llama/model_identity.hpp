#pragma once
// Which model a file is, from its content: size and hash of its beginning and of 64 sampled blocks,
// over all shards (name-00001-of-00003.gguf). A replaced file shows as another identity, a moved
// one does not. It reads about a MiB of each shard, so it costs milliseconds even for a model of
// 100 GB.

#include <filesystem>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::llama {

/// Hex digits that differ when any shard differs, or the error of the shard that cannot be read.
/// Symbolic links are followed: the download caches of models are made of them.
io_result<std::string> identify_model(disk& disk, const std::filesystem::path& file);

/// All files of the model that this file is or begins: name-00001-of-00003.gguf and its siblings in
/// their order, whichever of them is given; for any other name the file alone.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& file);

} // namespace hibernate::llama

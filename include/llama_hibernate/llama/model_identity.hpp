#pragma once
// Which model a file is, from its content: size and hash of its beginning and of 64 sampled blocks,
// over all shards (name-00001-of-00003.gguf). A replaced file shows as another identity, a moved one
// does not. It reads about a MiB, so it costs milliseconds even for a model of 100 GB.

#include <filesystem>
#include <string>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::llama {

/// Hex digits that differ when any shard differs, or the error of the shard that cannot be read.
io_result<std::string> identify_model(disk& disk, const std::filesystem::path& file);

} // namespace hibernate::llama

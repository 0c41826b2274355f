#pragma once
// The header of a model file (GGUF versions 2 and 3), little-endian:
//
//     u32 magic "GGUF", u32 version, u64 tensor count, u64 metadata count
//     metadata: key, u32 type, value      (a string is u64 length and bytes, an array u32 type, u64
//     tensors:  name, u32 dimensions, u64 each, u32 type, u64 offset              count and values)
//
// The tokenizer makes it some ten MiB, which are walked and not kept. Counts and lengths are
// hostile until they were compared with what is left of the file: nothing is allocated and nothing
// loops for what is not there, and a header of more than 256 MiB is none.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::llama {

/// A list is an array of whole numbers.
using gguf_list = std::vector<std::uint64_t>;
using gguf_value = std::variant<bool, std::uint64_t, std::int64_t, double, std::string, gguf_list>;

/// Of a whole number that is not negative, of any width.
std::optional<std::uint64_t> whole_number(const gguf_value& value);

struct gguf_header {
    std::uint32_t version = 0;
    std::uint64_t tensor_count = 0;
    std::uint64_t bytes = 0; ///< up to the end of the last tensor's description
    /// Where each tensor's data begins in the file, as the header has it: it may be anywhere.
    std::vector<std::uint64_t> tensor_starts;

    /// Without strings of more than 64 KiB, and of arrays only those that tell something of each
    /// layer: whole numbers, none of them negative, and at most 1024 of them.
    std::map<std::string, gguf_value, std::less<>> metadata;

    std::optional<std::uint64_t> whole_number(std::string_view key) const;
    /// Null if there is no list of that name.
    const gguf_list* list(std::string_view key) const;
    /// How many files make up the model ("split.count"), and which of them this is, from 0 on.
    std::uint64_t split_count() const { return whole_number("split.count").value_or(1); }
    std::uint64_t split_number() const { return whole_number("split.no").value_or(0); }
};

/// A header, or why the file has none: a clause.
struct gguf_reading {
    std::optional<gguf_header> header;
    std::string problem; ///< empty when there is a header
};

/// The error is the disk's. Links are not followed: see llama::identify_model.
io_result<gguf_reading> read_gguf(disk& disk, const std::filesystem::path& file);

} // namespace hibernate::llama

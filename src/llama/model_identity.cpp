#include "llama_hibernate/llama/model_identity.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "llama_hibernate/base/hash.hpp"
#include "llama_hibernate/llama/gguf.hpp"

namespace hibernate::llama {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1024} * 1024;
constexpr std::uint64_t small_file_bytes = 16 * mebibyte;
constexpr std::uint64_t foreign_header_bytes = mebibyte; ///< of a file that is no GGUF
constexpr std::uint64_t sample_bytes = 4096;
constexpr std::uint64_t sample_count = 64;
constexpr std::size_t max_tensors = 16384; ///< the largest models have some thousands
constexpr std::string_view extension = ".gguf";
/// llama-server itself gives up on more.
constexpr unsigned max_shards = 9999;

std::optional<unsigned> five_digits(std::string_view text) {
    unsigned value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') {
            return std::nullopt;
        }
        value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    return value;
}

error_code hash_part(
    hasher128& hash, disk& disk, const fs::path& file, std::uint64_t offset, std::uint64_t bytes) {
    for (const auto end = offset + bytes; offset < end;) {
        const auto wanted = std::min(end - offset, mebibyte);
        const auto part = disk.read(file, offset, static_cast<std::size_t>(wanted));
        if (!part) {
            return part.error();
        }
        if (part->size() != wanted) {
            // The file is shrinking: whatever it is now, it is not what we measured.
            return boost::system::errc::make_error_code(boost::system::errc::io_error);
        }
        hash.update(*part);
        offset += wanted;
    }
    return {};
}

/// Where to read a block each: evenly over what follows the header (the first one follows it and
/// the last one ends the file), and at the beginning and in the middle of each tensor, because a
/// retrained model may differ in a few of them only.
std::set<std::uint64_t>
sampled_blocks(std::uint64_t header, std::uint64_t size, std::vector<std::uint64_t> tensor_starts) {
    const auto last = size - sample_bytes; // of a file that is not small
    const auto first = std::min(header, last);
    std::set<std::uint64_t> starts{last};
    for (std::uint64_t block = 0; block + 1 < sample_count; ++block) {
        starts.insert(first + (last - first) / (sample_count - 1) * block);
    }
    std::sort(tensor_starts.begin(), tensor_starts.end());
    tensor_starts.resize(std::min(tensor_starts.size(), max_tensors));
    for (std::size_t i = 0; i < tensor_starts.size(); ++i) {
        const auto start = std::clamp(tensor_starts[i], first, last);
        const auto next = i + 1 < tensor_starts.size() ? tensor_starts[i + 1] : size;
        starts.insert(start);
        starts.insert(start + (std::clamp(next, start, last) - start) / 2);
    }
    return starts;
}

error_code hash_shard(hasher128& hash, disk& disk, const fs::path& file) {
    const auto size = disk.size(file);
    if (!size) {
        return size.error();
    }
    hash.update(fmt::format("{}:", *size));
    if (*size <= small_file_bytes) {
        return hash_part(hash, disk, file, 0, *size);
    }
    const auto gguf = read_gguf(disk, file);
    if (!gguf) {
        return gguf.error();
    }
    const auto header = std::min(gguf->header ? gguf->header->bytes : foreign_header_bytes, *size);
    if (const auto failed = hash_part(hash, disk, file, 0, header)) {
        return failed;
    }
    const auto tensors = gguf->header ? gguf->header->tensor_starts : std::vector<std::uint64_t>();
    for (const auto start : sampled_blocks(header, *size, tensors)) {
        if (const auto failed = hash_part(hash, disk, file, start, sample_bytes)) {
            return failed;
        }
    }
    return {};
}

/// The header knows better than the name whether the model goes on in other files; of a file that
/// is no GGUF only the name is known.
io_result<std::vector<fs::path>> files_of_model(disk& disk, const fs::path& file) {
    auto shards = shards_of(file);
    if (shards.size() == 1) {
        return shards;
    }
    const auto gguf = read_gguf(disk, follow_links(file));
    if (!gguf) {
        return gguf.error();
    }
    if (gguf->header && gguf->header->split_count() <= 1) {
        return std::vector{file};
    }
    return shards;
}

} // namespace

fs::path follow_links(const fs::path& file) {
    std::error_code failed;
    auto target = fs::canonical(file, failed);
    return failed ? file : target;
}

std::vector<fs::path> shards_of(const fs::path& file) {
    // ...-NNNNN-of-NNNNN.gguf
    constexpr std::size_t digits = 5;
    constexpr std::string_view between = "-of-";
    const auto name = file.filename().string();
    const auto tail = 1 + digits + between.size() + digits + extension.size();
    if (name.size() <= tail || !name.ends_with(extension)) {
        return {file};
    }
    const auto stem = name.substr(0, name.size() - tail);
    const auto parts = std::string_view(name).substr(stem.size());
    const auto index = five_digits(parts.substr(1, digits));
    const auto count = five_digits(parts.substr(1 + digits + between.size(), digits));
    const bool named_as_shard = parts.front() == '-' &&
                                parts.substr(1 + digits, between.size()) == between && index &&
                                count && *index >= 1 && *index <= *count && *count <= max_shards;
    if (!named_as_shard) {
        return {file};
    }
    std::vector<fs::path> shards;
    for (unsigned i = 1; i <= *count; ++i) {
        shards.push_back(
            file.parent_path() / fmt::format("{}-{:05}-of-{:05}{}", stem, i, *count, extension));
    }
    return shards;
}

io_result<std::string> identify_model(disk& disk, const fs::path& file) {
    const auto files = files_of_model(disk, file);
    if (!files) {
        return files.error();
    }
    hasher128 hash;
    for (const auto& each : *files) {
        if (const auto failed = hash_shard(hash, disk, follow_links(each))) {
            return failed;
        }
    }
    return hash.hex();
}

} // namespace hibernate::llama

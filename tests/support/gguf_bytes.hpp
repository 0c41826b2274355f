#pragma once
// GGUF headers, made up piece by piece, so that a test can make any piece of them wrong.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hibernate::test {

inline std::string little_endian(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) {
        out += static_cast<char>(value >> 8 * i & 0xff);
    }
    return out;
}
inline std::string gguf_u32(std::uint64_t value) {
    return little_endian(value, 4);
}
inline std::string gguf_u64(std::uint64_t value) {
    return little_endian(value, 8);
}

/// Length and bytes.
inline std::string gguf_raw_text(std::string_view text) {
    return gguf_u64(text.size()) + std::string(text);
}

// Values: type and what follows.
inline std::string gguf_number(std::uint32_t type, int bytes, std::uint64_t value) {
    return gguf_u32(type) + little_endian(value, bytes);
}
inline std::string gguf_u16(std::uint64_t value) {
    return gguf_number(2, 2, value);
}
inline std::string gguf_text(std::string_view text) {
    return gguf_u32(8) + gguf_raw_text(text);
}
inline std::string
gguf_array(std::uint32_t type, std::uint64_t count, const std::string& raw_values) {
    return gguf_u32(9) + gguf_u32(type) + gguf_u64(count) + raw_values;
}

inline std::string gguf_entry(std::string_view key, const std::string& value) {
    return gguf_raw_text(key) + value;
}

/// offset: of its data, from where the data of all begins.
inline std::string gguf_tensor(
    std::string_view name, const std::vector<std::uint64_t>& shape, std::uint64_t offset = 0) {
    auto bytes = gguf_raw_text(name) + gguf_u32(shape.size());
    for (const auto length : shape) {
        bytes += gguf_u64(length);
    }
    return bytes + gguf_u32(1) + gguf_u64(offset);
}

inline std::string
gguf_start(std::uint32_t version, std::uint64_t tensor_count, std::uint64_t entry_count) {
    return "GGUF" + gguf_u32(version) + gguf_u64(tensor_count) + gguf_u64(entry_count);
}

/// A whole header.
inline std::string gguf_file(
    const std::vector<std::string>& entries,
    const std::vector<std::string>& tensors,
    std::uint32_t version = 3) {
    auto bytes = gguf_start(version, tensors.size(), entries.size());
    for (const auto& entry : entries) {
        bytes += entry;
    }
    for (const auto& tensor : tensors) {
        bytes += tensor;
    }
    return bytes;
}

} // namespace hibernate::test

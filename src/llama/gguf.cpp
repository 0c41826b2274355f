#include "llama_hibernate/llama/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include <fmt/core.h>

namespace hibernate::llama {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "GGUF";
constexpr std::uint64_t max_header_bytes = std::uint64_t{256} * 1024 * 1024;
constexpr std::uint64_t max_key_bytes = 65535; ///< the format's own bound
constexpr std::uint64_t max_kept_text_bytes = std::uint64_t{64} * 1024;
constexpr std::uint64_t max_kept_bytes = std::uint64_t{4} * 1024 * 1024; ///< of all keys and values
constexpr std::uint64_t max_dimensions = 8;                              ///< ggml has four
constexpr std::size_t block_bytes = std::size_t{64} * 1024;

enum class value_type : std::uint32_t {
    uint8,
    int8,
    uint16,
    int16,
    uint32,
    int32,
    float32,
    boolean,
    string,
    array,
    uint64,
    int64,
    float64,
};
/// By type; 0 where the length is in the file.
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Reads a file from its beginning to a limit. The first thing that goes wrong is remembered; from
/// then on every number is 0 and every text empty.
class cursor {
public:
    cursor(disk& disk, const fs::path& file, std::uint64_t limit)
        : disk_(disk), file_(file), limit_(limit) {}

    bool good() const noexcept { return problem_.empty() && !failure_; }
    std::uint64_t position() const noexcept { return position_; }
    const std::string& problem() const noexcept { return problem_; }
    error_code failure() const noexcept { return failure_; }

    void refuse(std::string problem) {
        if (good()) {
            problem_ = std::move(problem);
        }
    }

    std::uint64_t number(std::size_t bytes) {
        const auto part = take(bytes);
        std::uint64_t value = 0;
        for (auto i = part.size(); i-- > 0;) {
            value = value << 8 | static_cast<unsigned char>(part[i]);
        }
        return value;
    }

    /// At most a block.
    std::string text(std::uint64_t bytes) { return std::string(take(bytes)); }

    void skip(std::uint64_t bytes) {
        if (has(bytes)) {
            position_ += bytes;
        }
    }

    /// Skips so many items of that size each.
    void skip(std::uint64_t count, std::uint64_t bytes_each) {
        if (count > limit_ / bytes_each) {
            cut_off();
        } else {
            skip(count * bytes_each);
        }
    }

private:
    void cut_off() {
        refuse(
            limit_ < max_header_bytes
                ? fmt::format("its header goes beyond its end at {} bytes", limit_)
                : fmt::format("its header has more than {} bytes", max_header_bytes));
    }

    bool has(std::uint64_t bytes) {
        if (bytes > limit_ - position_) {
            cut_off();
        }
        return good();
    }

    std::string_view take(std::uint64_t bytes) {
        if (!has(bytes) || !load(static_cast<std::size_t>(bytes))) {
            return {};
        }
        const auto start = static_cast<std::size_t>(position_ - block_start_);
        position_ += bytes;
        return std::string_view(block_).substr(start, static_cast<std::size_t>(bytes));
    }

    bool load(std::size_t bytes) {
        if (position_ >= block_start_ && position_ + bytes <= block_start_ + block_.size()) {
            return true;
        }
        auto block = disk_.read(file_, position_, std::max(bytes, block_bytes));
        if (!block) {
            failure_ = block.error();
            return false;
        }
        block_ = std::move(*block);
        block_start_ = position_;
        if (block_.size() < bytes) {
            cut_off(); // it was longer a moment ago
        }
        return good();
    }

    disk& disk_;
    const fs::path& file_;
    std::uint64_t limit_;
    std::uint64_t position_ = 0;
    std::string block_;
    std::uint64_t block_start_ = 0;
    std::string problem_;
    error_code failure_;
};

template <typename Narrow>
std::int64_t signed_number(std::uint64_t bits) {
    return static_cast<Narrow>(bits);
}

/// The value of a type of fixed length.
gguf_value fixed_value(value_type type, std::uint64_t bits) {
    switch (type) {
    case value_type::int8:
        return signed_number<std::int8_t>(bits);
    case value_type::int16:
        return signed_number<std::int16_t>(bits);
    case value_type::int32:
        return signed_number<std::int32_t>(bits);
    case value_type::int64:
        return signed_number<std::int64_t>(bits);
    case value_type::float32:
        return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
    case value_type::float64:
        return std::bit_cast<double>(bits);
    case value_type::boolean:
        return bits != 0;
    default:
        return bits;
    }
}

void skip_array(cursor& from, const std::string& key) {
    const auto type = from.number(4);
    const auto count = from.number(8);
    if (type >= value_bytes.size() || value_type(type) == value_type::array) {
        from.refuse(fmt::format("its \"{}\" is an array of the unknown type {}", key, type));
        return;
    }
    if (value_type(type) != value_type::string) {
        from.skip(count, value_bytes[type]);
        return;
    }
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        from.skip(from.number(8));
    }
}

/// Nothing for what is not kept, or when it went wrong.
std::optional<gguf_value> read_value(cursor& from, const std::string& key) {
    const auto type = from.number(4);
    if (type >= value_bytes.size()) {
        from.refuse(fmt::format("its \"{}\" is of the unknown type {}", key, type));
        return std::nullopt;
    }
    switch (value_type(type)) {
    case value_type::array:
        skip_array(from, key);
        return std::nullopt;
    case value_type::string: {
        const auto length = from.number(8);
        if (length > max_kept_text_bytes) {
            from.skip(length);
            return std::nullopt;
        }
        return from.text(length);
    }
    default:
        return fixed_value(value_type(type), from.number(value_bytes[type]));
    }
}

void read_metadata(cursor& from, std::uint64_t count, gguf_header& header) {
    std::uint64_t kept_bytes = 0;
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        const auto length = from.number(8);
        if (length > max_key_bytes) {
            from.refuse(fmt::format("its header has a key of {} bytes", length));
            return;
        }
        auto key = from.text(length);
        auto value = read_value(from, key);
        if (!value || !from.good()) {
            continue;
        }
        const auto* text = std::get_if<std::string>(&*value);
        kept_bytes += sizeof(gguf_value) + key.size() + (text ? text->size() : 0);
        if (kept_bytes > max_kept_bytes) {
            from.refuse(fmt::format("its metadata has more than {} bytes", max_kept_bytes));
            return;
        }
        const auto [place, added] = header.metadata.emplace(std::move(key), std::move(*value));
        if (!added) {
            from.refuse(fmt::format("its header has \"{}\" twice", place->first));
        }
    }
}

void skip_tensors(cursor& from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        from.skip(from.number(8)); // the name
        const auto dimensions = from.number(4);
        if (dimensions > max_dimensions) {
            from.refuse(fmt::format("it has a tensor of {} dimensions", dimensions));
            return;
        }
        from.skip(dimensions, 8);
        from.skip(4 + 8); // type and offset
    }
}

} // namespace

std::optional<std::uint64_t> gguf_header::whole_number(std::string_view key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) {
        return std::nullopt;
    }
    if (const auto* number = std::get_if<std::uint64_t>(&found->second)) {
        return *number;
    }
    const auto* number = std::get_if<std::int64_t>(&found->second);
    if (number == nullptr || *number < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*number);
}

io_result<gguf_reading> read_gguf(disk& disk, const fs::path& file) {
    const auto size = disk.size(file);
    if (!size) {
        return size.error();
    }
    cursor from(disk, file, std::min(*size, max_header_bytes));
    if (from.text(magic.size()) != magic) {
        from.refuse("it does not begin as a GGUF file does");
    }
    gguf_header header;
    header.version = static_cast<std::uint32_t>(from.number(4));
    if (header.version != 2 && header.version != 3) {
        from.refuse(fmt::format("its GGUF version is {}", header.version));
    }
    header.tensor_count = from.number(8);
    const auto metadata_count = from.number(8);
    read_metadata(from, metadata_count, header);
    skip_tensors(from, header.tensor_count);
    header.bytes = from.position();
    if (from.failure()) {
        return from.failure();
    }
    if (!from.good()) {
        return gguf_reading{std::nullopt, from.problem()};
    }
    return gguf_reading{std::move(header), {}};
}

} // namespace hibernate::llama

#include "gguf_cursor.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>

namespace hibernate::llama {

namespace {

constexpr std::string_view magic = "GGUF";
constexpr std::uint64_t max_header_bytes = std::uint64_t{256} * 1024 * 1024;
constexpr std::uint64_t max_key_bytes = 65535; ///< the format's own bound
constexpr std::size_t read_ahead_bytes = std::size_t{64} * 1024;

/// By type; 0 where the length is in the file.
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

std::uint64_t bytes_of(gguf_type type) {
    return value_bytes[static_cast<std::size_t>(type)];
}

template <typename Narrow>
std::int64_t signed_number(std::uint64_t bits) {
    return static_cast<Narrow>(bits);
}

/// The value of a type of fixed length.
gguf_value fixed_value(gguf_type type, std::uint64_t bits) {
    switch (type) {
    case gguf_type::int8:
        return signed_number<std::int8_t>(bits);
    case gguf_type::int16:
        return signed_number<std::int16_t>(bits);
    case gguf_type::int32:
        return signed_number<std::int32_t>(bits);
    case gguf_type::int64:
        return signed_number<std::int64_t>(bits);
    case gguf_type::float32:
        return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
    case gguf_type::float64:
        return std::bit_cast<double>(bits);
    case gguf_type::boolean:
        return bits != 0;
    default:
        return bits;
    }
}

} // namespace

gguf_cursor::gguf_cursor(disk& disk, const std::filesystem::path& file, std::uint64_t file_bytes)
    : disk_(disk), file_(file), limit_(std::min(file_bytes, max_header_bytes)) {}

void gguf_cursor::refuse(std::string problem) {
    if (good()) {
        problem_ = std::move(problem);
    }
}

std::uint64_t gguf_cursor::number(std::size_t bytes) {
    const auto part = take(bytes);
    std::uint64_t value = 0;
    for (auto i = part.size(); i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(part[i]);
    }
    return value;
}

std::string gguf_cursor::text(std::uint64_t bytes) {
    return std::string(take(bytes));
}

void gguf_cursor::skip(std::uint64_t bytes) {
    if (has(bytes)) {
        position_ += bytes;
    }
}

void gguf_cursor::skip(std::uint64_t count, std::uint64_t bytes_each) {
    if (count > limit_ / bytes_each) {
        cut_off();
    } else {
        skip(count * bytes_each);
    }
}

void gguf_cursor::cut_off() {
    refuse(
        limit_ < max_header_bytes
            ? fmt::format("its header goes beyond its end at {} bytes", limit_)
            : fmt::format("its header has more than {} bytes", max_header_bytes));
}

bool gguf_cursor::has(std::uint64_t bytes) {
    if (bytes > limit_ - position_) {
        cut_off();
    }
    return good();
}

std::string_view gguf_cursor::take(std::uint64_t bytes) {
    if (!has(bytes) || !load(static_cast<std::size_t>(bytes))) {
        return {};
    }
    const auto start = static_cast<std::size_t>(position_ - block_start_);
    position_ += bytes;
    return std::string_view(block_).substr(start, static_cast<std::size_t>(bytes));
}

bool gguf_cursor::load(std::size_t bytes) {
    if (position_ >= block_start_ && position_ + bytes <= block_start_ + block_.size()) {
        return true;
    }
    auto block = disk_.read(file_, position_, std::max(bytes, read_ahead_bytes));
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

gguf_start read_gguf_start(gguf_cursor& from) {
    if (from.text(magic.size()) != magic) {
        from.refuse("it does not begin as a GGUF file does");
    }
    gguf_start start;
    start.version = static_cast<std::uint32_t>(from.number(4));
    if (start.version != 2 && start.version != 3) {
        from.refuse(fmt::format("its GGUF version is {}", start.version));
    }
    start.tensor_count = from.number(8);
    start.metadata_count = from.number(8);
    return start;
}

gguf_key read_gguf_key(gguf_cursor& from) {
    const auto length = from.number(8);
    if (length > max_key_bytes) {
        from.refuse(fmt::format("its header has a key of {} bytes", length));
        return {};
    }
    auto name = from.text(length);
    const auto type = from.number(4);
    if (type >= value_bytes.size()) {
        from.refuse(fmt::format("its \"{}\" is of the unknown type {}", name, type));
        return {};
    }
    return {std::move(name), gguf_type(type)};
}

std::optional<gguf_value> read_gguf_value(gguf_cursor& from, gguf_type type) {
    std::optional<gguf_value> value;
    if (type != gguf_type::string) {
        value = fixed_value(type, from.number(static_cast<std::size_t>(bytes_of(type))));
    } else if (const auto length = from.number(8); length <= max_gguf_text_bytes) {
        value = from.text(length);
    } else {
        from.skip(length);
    }
    return from.good() ? value : std::nullopt;
}

gguf_array read_gguf_array(gguf_cursor& from, const gguf_key& key) {
    const auto type = from.number(4);
    const auto count = from.number(8);
    if (type >= value_bytes.size() || gguf_type(type) == gguf_type::array) {
        from.refuse(fmt::format("its \"{}\" is an array of the unknown type {}", key.name, type));
        return {};
    }
    return from.good() ? gguf_array{gguf_type(type), count} : gguf_array{};
}

void skip_gguf_items(gguf_cursor& from, gguf_type type, std::uint64_t count) {
    if (type != gguf_type::string) {
        from.skip(count, bytes_of(type));
        return;
    }
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        from.skip(from.number(8));
    }
}

} // namespace hibernate::llama

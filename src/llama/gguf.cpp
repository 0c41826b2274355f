#include "llama_hibernate/llama/gguf.hpp"

#include <fmt/core.h>

#include "gguf_cursor.hpp"

namespace hibernate::llama {

namespace {

constexpr std::uint64_t max_dimensions = 8; ///< ggml has four
constexpr std::uint64_t max_list_length =
    1024; ///< llama.cpp knows no model of more layers than 512

/// Nothing for an array that is not kept, or when it went wrong.
std::optional<gguf_value> read_list(gguf_cursor& from, const gguf_key& key) {
    const auto array = read_gguf_array(from, key);
    if (array.count > max_list_length) {
        skip_gguf_items(from, array.type, array.count);
        return std::nullopt;
    }
    gguf_list list;
    for (std::uint64_t i = 0; i < array.count && from.good(); ++i) {
        const auto value = read_gguf_value(from, array.type);
        if (const auto number = value ? whole_number(*value) : std::nullopt) {
            list.push_back(*number);
        }
    }
    return from.good() && list.size() == array.count ? std::optional(list) : std::nullopt;
}

std::size_t kept_bytes_of(const gguf_value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* list = std::get_if<gguf_list>(&value);
    return sizeof(gguf_value) + (text ? text->size() : 0) +
           (list ? list->size() * sizeof(std::uint64_t) : 0);
}

void read_metadata(gguf_cursor& from, std::uint64_t count, gguf_header& header) {
    std::uint64_t kept_bytes = 0;
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        auto key = read_gguf_key(from);
        auto value =
            key.type == gguf_type::array ? read_list(from, key) : read_gguf_value(from, key.type);
        if (!value) {
            continue;
        }
        kept_bytes += key.name.size() + kept_bytes_of(*value);
        if (kept_bytes > max_gguf_kept_bytes) {
            from.refuse(fmt::format("its metadata has more than {} bytes", max_gguf_kept_bytes));
            return;
        }
        const auto [place, added] = header.metadata.emplace(std::move(key.name), std::move(*value));
        if (!added) {
            from.refuse(fmt::format("its header has \"{}\" twice", place->first));
        }
    }
}

/// Returns the tensors' offsets, which count from the end of the header.
std::vector<std::uint64_t> read_tensors(gguf_cursor& from, std::uint64_t count) {
    std::vector<std::uint64_t> offsets; // each takes many more bytes in the file
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        from.skip(from.number(8)); // the name
        const auto dimensions = from.number(4);
        if (dimensions > max_dimensions) {
            from.refuse(fmt::format("it has a tensor of {} dimensions", dimensions));
            break;
        }
        from.skip(dimensions, 8);
        from.skip(4); // the type
        offsets.push_back(from.number(8));
    }
    return offsets;
}

} // namespace

std::optional<std::uint64_t> whole_number(const gguf_value& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return *number;
    }
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*number);
}

std::optional<std::uint64_t> gguf_header::whole_number(std::string_view key) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::nullopt : llama::whole_number(found->second);
}

const gguf_list* gguf_header::list(std::string_view key) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? nullptr : std::get_if<gguf_list>(&found->second);
}

io_result<gguf_reading> read_gguf(disk& disk, const std::filesystem::path& file) {
    const auto size = disk.size(file);
    if (!size) {
        return size.error();
    }
    gguf_cursor from(disk, file, *size);
    const auto start = read_gguf_start(from);
    gguf_header header;
    header.version = start.version;
    header.tensor_count = start.tensor_count;
    read_metadata(from, start.metadata_count, header);
    header.tensor_starts = read_tensors(from, start.tensor_count);
    header.bytes = from.position();
    constexpr std::uint64_t default_alignment = 32;
    const auto alignment = std::max<std::uint64_t>(
        header.whole_number("general.alignment").value_or(default_alignment), 1);
    const auto data_start = header.bytes + (alignment - header.bytes % alignment) % alignment;
    for (auto& tensor : header.tensor_starts) {
        tensor += data_start;
    }
    if (from.failure()) {
        return from.failure();
    }
    if (!from.good()) {
        return gguf_reading{std::nullopt, from.problem()};
    }
    return gguf_reading{std::move(header), {}};
}

} // namespace hibernate::llama

#pragma once
// Walking through the header of a GGUF file (its layout is in gguf.hpp), for those who keep
// something of it. Counts and lengths are hostile until the cursor has compared them with what is
// left of the file: nothing is allocated and nothing loops for what is not there.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/gguf.hpp"

namespace hibernate::llama {

constexpr std::uint64_t max_gguf_text_bytes = std::uint64_t{64} * 1024; ///< of a string we keep
/// Of all that one reader keeps.
constexpr std::uint64_t max_gguf_kept_bytes = std::uint64_t{4} * 1024 * 1024;

/// Reads a file from its beginning to its end, or to the most that a header may have. The first
/// thing that goes wrong is remembered; from then on every number is 0 and every text empty.
class gguf_cursor {
public:
    /// The disk and the path have to outlive it.
    gguf_cursor(disk& disk, const std::filesystem::path& file, std::uint64_t file_bytes);

    bool good() const noexcept { return problem_.empty() && !failure_; }
    std::uint64_t position() const noexcept { return position_; }
    /// What is wrong with the file, a clause; empty if nothing is.
    const std::string& problem() const noexcept { return problem_; }
    /// What the disk refused.
    error_code failure() const noexcept { return failure_; }

    void refuse(std::string problem);

    /// Of at most eight bytes.
    std::uint64_t number(std::size_t bytes);
    /// At most max_gguf_text_bytes.
    std::string text(std::uint64_t bytes);
    void skip(std::uint64_t bytes);
    /// Skips so many items of that size each.
    void skip(std::uint64_t count, std::uint64_t bytes_each);

private:
    void cut_off();
    bool has(std::uint64_t bytes);
    std::string_view take(std::uint64_t bytes);
    bool load(std::size_t bytes);

    disk& disk_;
    const std::filesystem::path& file_;
    std::uint64_t limit_;
    std::uint64_t position_ = 0;
    std::string block_;
    std::uint64_t block_start_ = 0;
    std::string problem_;
    error_code failure_;
};

enum class gguf_type : std::uint32_t {
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

struct gguf_start {
    std::uint32_t version = 0;
    std::uint64_t tensor_count = 0;
    std::uint64_t metadata_count = 0;
};
/// What a file begins with. Anything but a version that we know is refused.
gguf_start read_gguf_start(gguf_cursor& from);

/// The name of an entry of the metadata and what type of value follows.
struct gguf_key {
    std::string name;
    gguf_type type = gguf_type::uint8;
};
gguf_key read_gguf_key(gguf_cursor& from);

/// The value of an entry that is no array; nothing for a string too long to keep, which is skipped,
/// or when it went wrong.
std::optional<gguf_value> read_gguf_value(gguf_cursor& from, gguf_type type);

/// What an array begins with. Arrays of arrays are refused: no writer makes them.
struct gguf_array {
    gguf_type type = gguf_type::uint8;
    std::uint64_t count = 0;
};
gguf_array read_gguf_array(gguf_cursor& from, const gguf_key& key);

/// Skips so many items of an array.
void skip_gguf_items(gguf_cursor& from, gguf_type type, std::uint64_t count);

} // namespace hibernate::llama

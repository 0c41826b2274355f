#include "llama_hibernate/llama/state_trailers.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "llama_hibernate/base/size.hpp"

namespace hibernate::llama {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view checkpoint_magic = "SCKP";
constexpr std::string_view draft_magic = "SDFT";
constexpr std::size_t magic_bytes = 4;
constexpr std::uint64_t trailer_version = 1;
constexpr std::uint64_t max_checkpoints = 65536;
constexpr std::uint64_t tail_bytes = std::uint64_t{1024} * 1024;

/// Reads numbers here and there in a file, each of them one step; a few at once cost one read.
class number_reader {
public:
    number_reader(disk& disk, const fs::path& file, std::uint64_t size, std::size_t max_steps)
        : disk_(disk), file_(file), size_(size), steps_left_(max_steps) {}

    /// Where the next number is read; anywhere, even beyond the end.
    void seek(std::uint64_t position) {
        position_ = position;
        inside_ = position <= size_;
    }
    void skip(std::uint64_t bytes) {
        inside_ = inside_ && bytes <= size_ - position_;
        position_ = inside_ ? position_ + bytes : size_;
    }
    /// Every number since the last seek() was within the file, and so is the position.
    bool inside() const noexcept { return inside_; }
    std::uint64_t position() const noexcept { return position_; }

    std::uint64_t number(std::size_t bytes) {
        const auto start = position_;
        skip(bytes);
        if (!inside_ || !load(start, bytes)) {
            inside_ = false;
            return 0;
        }
        std::uint64_t value = 0;
        for (auto i = bytes; i-- > 0;) {
            const auto at = static_cast<std::size_t>(start - window_start_) + i;
            value = value << 8 | static_cast<unsigned char>(window_[at]);
        }
        return value;
    }

    /// Why the search has to end; empty: it may go on.
    const std::string& problem() const noexcept { return problem_; }

private:
    bool load(std::uint64_t start, std::size_t bytes) {
        constexpr std::size_t window_bytes = 64;
        if (start >= window_start_ && start + bytes <= window_start_ + window_.size()) {
            return true;
        }
        if (steps_left_ == 0) {
            problem_ = "it has more places that look like a trailer than can be followed";
            return false;
        }
        --steps_left_;
        auto window = disk_.read(file_, start, window_bytes);
        if (!window) {
            problem_ = fmt::format("it cannot be read: {}", window.error().message());
            return false;
        }
        window_ = std::move(*window);
        window_start_ = start;
        return window_.size() >= bytes;
    }

    disk& disk_;
    const fs::path& file_;
    std::uint64_t size_;
    std::size_t steps_left_;
    std::string window_;
    std::uint64_t window_start_ = 0;
    std::uint64_t position_ = 0;
    bool inside_ = true;
    std::string problem_;
};

std::uint64_t skip_data(number_reader& from) {
    const auto bytes = from.number(8);
    from.skip(bytes);
    return bytes;
}

/// Reads what is left of the trailer after its magic; nothing if it is none that ends at an end.
std::optional<std::vector<state_checkpoint>>
read_checkpoints(number_reader& from, const state_trailers& after, std::uint64_t file_end) {
    if (from.number(4) != trailer_version) {
        return std::nullopt;
    }
    const auto count = from.number(4);
    if (count == 0 || count > max_checkpoints) {
        return std::nullopt;
    }
    std::vector<state_checkpoint> checkpoints;
    for (std::uint64_t i = 0; i < count && from.inside(); ++i) {
        state_checkpoint each;
        each.tokens = static_cast<std::int64_t>(from.number(8));
        each.first_position = static_cast<std::int32_t>(from.number(4));
        each.last_position = static_cast<std::int32_t>(from.number(4));
        for (int part = 0; part < 3; ++part) {
            each.bytes += skip_data(from);
        }
        if (each.tokens < 0 || each.last_position < each.first_position) {
            return std::nullopt;
        }
        checkpoints.push_back(each);
    }
    const bool fits =
        from.position() == file_end || (after.draft && from.position() == after.state_end);
    if (!from.inside() || !fits) {
        return std::nullopt;
    }
    return checkpoints;
}

std::optional<std::uint64_t> read_draft(number_reader& from, std::uint64_t file_end) {
    if (from.number(4) != trailer_version) {
        return std::nullopt;
    }
    const auto model = skip_data(from);
    const auto other = skip_data(from);
    if (!from.inside() || from.position() != file_end) {
        return std::nullopt;
    }
    return model + other;
}

/// Where the magic words stand in a block, the last one first.
std::vector<std::size_t> find_magic(std::string_view block) {
    std::vector<std::size_t> places;
    for (const auto magic : {checkpoint_magic, draft_magic}) {
        for (auto at = block.find(magic); at != block.npos; at = block.find(magic, at + 1)) {
            places.push_back(at);
        }
    }
    std::sort(places.rbegin(), places.rend());
    return places;
}

/// Takes a place where a magic word stands into what was found so far. True: nothing can come
/// before it.
bool take_trailer(
    number_reader& from,
    std::string_view magic,
    std::uint64_t place,
    std::uint64_t file_end,
    state_trailers& found) {
    from.seek(place + magic_bytes);
    if (magic == draft_magic) {
        if (const auto bytes = found.draft ? std::nullopt : read_draft(from, file_end)) {
            found.draft = true;
            found.draft_bytes = *bytes;
            found.state_end = place;
        }
        return false;
    }
    auto checkpoints = read_checkpoints(from, found, file_end);
    if (!checkpoints) {
        return false;
    }
    if (found.draft && from.position() == file_end) {
        found = {}; // what looked like a draft's state is within the data of these
    }
    found.checkpoints = std::move(*checkpoints);
    found.state_end = place;
    return true;
}

} // namespace

trailer_reading read_state_trailers(
    disk& disk, const fs::path& file, const state_file_head& head, const trailer_search& limits) {
    const auto size = disk.size(file);
    if (!size) {
        return {std::nullopt, fmt::format("it cannot be read: {}", size.error().message())};
    }
    state_trailers found;
    found.state_end = *size;
    number_reader numbers(disk, file, *size, limits.max_steps);
    for (auto end = *size; end > head.bytes;) {
        const auto start = std::max(head.bytes, end > tail_bytes ? end - tail_bytes : 0);
        if (*size - start > limits.max_bytes) {
            return {
                std::nullopt,
                fmt::format("nothing was found in its last {}", format_bytes(*size - end))};
        }
        // A magic word may begin in this block and end in the next one.
        const auto with_next = std::min(end + magic_bytes - 1, *size);
        const auto block = disk.read(file, start, static_cast<std::size_t>(with_next - start));
        if (!block) {
            return {std::nullopt, fmt::format("it cannot be read: {}", block.error().message())};
        }
        for (const auto place : find_magic(*block)) {
            const auto magic = std::string_view(*block).substr(place, magic_bytes);
            const bool last = take_trailer(numbers, magic, start + place, *size, found);
            if (!numbers.problem().empty()) {
                return {std::nullopt, numbers.problem()};
            }
            if (last) {
                return {std::move(found), {}};
            }
        }
        end = start;
    }
    return {std::move(found), {}};
}

} // namespace hibernate::llama

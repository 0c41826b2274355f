#include "llama_hibernate/llama/prompt_counts.hpp"

#include <charconv>
#include <cmath>

namespace hibernate::llama {

namespace {

constexpr std::size_t longest_key = 32;    // longer than all that count
constexpr std::size_t longest_scalar = 21; // one digit more than any 64-bit number

/// Of milliseconds with decimals; 0 for what is none, or beyond what a prompt can take.
std::chrono::microseconds read_milliseconds(std::string_view text) {
    constexpr double longest = 1e12;
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool usable = read.ec == std::errc() && value > 0 && value < longest;
    return std::chrono::microseconds(usable ? std::llround(value * 1000) : 0);
}

} // namespace

struct prompt_counts::child {
    place in;
    std::string_view key;
    place is;
};

struct prompt_counts::number {
    place in;
    std::string_view key;
    std::optional<std::uint64_t> numbers::*is;
};

prompt_counts::place prompt_counts::here() const {
    return places_open_ != 0 && places_open_ == depth_ ? places_[places_open_ - 1]
                                                       : place::elsewhere;
}

/// What an object here is.
prompt_counts::place prompt_counts::child_of_here() const {
    static constexpr std::array<child, 7> children{
        {{place::top, "timings", place::timings},
         {place::top, "usage", place::usage},
         {place::top, "response", place::wrapper},
         {place::top, "message", place::wrapper},
         {place::wrapper, "usage", place::usage},
         {place::usage, "prompt_tokens_details", place::details},
         {place::usage, "input_tokens_details", place::details}}};
    const auto in = here();
    if (depth_ == 0 || in == place::list) {
        return place::top;
    }
    for (const auto& one : children) {
        if (one.in == in && one.key == key_) {
            return one.is;
        }
    }
    return place::elsewhere;
}

void prompt_counts::end_scalar() {
    static constexpr std::array<number, 8> known{
        {{place::timings, "cache_n", &numbers::cache_n},
         {place::timings, "prompt_n", &numbers::prompt_n},
         {place::top, "timings/cache_n", &numbers::cache_n},
         {place::top, "timings/prompt_n", &numbers::prompt_n},
         {place::usage, "prompt_tokens", &numbers::prompt_tokens},
         {place::usage, "input_tokens", &numbers::input_tokens},
         {place::usage, "cache_read_input_tokens", &numbers::cache_read_input_tokens},
         {place::details, "cached_tokens", &numbers::cached_tokens}}};
    if (scalar_.empty()) {
        return;
    }
    const auto in = here();
    const bool is_time = (in == place::timings && key_ == "prompt_ms") ||
                         (in == place::top && key_ == "timings/prompt_ms");
    if (is_time) {
        numbers_.prompt_time = read_milliseconds(scalar_);
    }
    for (const auto& one : known) {
        if (one.in == in && one.key == key_) {
            std::uint64_t value = 0;
            const char* end = scalar_.data() + scalar_.size();
            const auto read = std::from_chars(scalar_.data(), end, value);
            const bool whole = read.ec == std::errc() && read.ptr == end;
            numbers_.*(one.is) = whole ? std::optional(value) : std::nullopt;
        }
    }
    scalar_.clear();
}

std::optional<receipt> prompt_counts::receipt_of(const numbers& from) {
    if (from.cache_n && from.prompt_n) {
        return receipt{*from.cache_n, *from.prompt_n, from.prompt_time};
    }
    if (from.cache_read_input_tokens && from.input_tokens) {
        return receipt{*from.cache_read_input_tokens, *from.input_tokens, {}};
    }
    const auto all = from.prompt_tokens ? from.prompt_tokens : from.input_tokens;
    if (all && from.cached_tokens && *from.cached_tokens <= *all) {
        return receipt{*from.cached_tokens, *all - *from.cached_tokens, {}};
    }
    return std::nullopt;
}

void prompt_counts::open(place what) {
    end_scalar();
    if (what == place::top) {
        numbers_ = {};
    }
    if (what != place::elsewhere) {
        places_[places_open_] = what;
        ++places_open_;
    }
    ++depth_;
    expects_key_ = true;
}

void prompt_counts::close() {
    end_scalar();
    if (depth_ == 0) {
        return;
    }
    if (here() != place::elsewhere) {
        --places_open_;
        if (places_[places_open_] == place::top) {
            const auto told = receipt_of(numbers_);
            result_ = told ? told : result_;
        }
    }
    --depth_;
    expects_key_ = false;
}

/// To behind the end of the string, or of the bytes.
std::size_t prompt_counts::pass_string(std::string_view bytes, std::size_t at) {
    const auto begin = at;
    bool escaped = escaped_;
    bool ended = false;
    while (at < bytes.size() && !ended) {
        const char byte = bytes[at];
        ended = byte == '"' && !escaped;
        escaped = byte == '\\' && !escaped;
        ++at;
    }
    in_string_ = !ended;
    escaped_ = escaped;
    if (in_key_) {
        const auto room = longest_key - key_.size();
        key_.append(bytes.substr(begin, at - begin - (ended ? 1 : 0)).substr(0, room));
        in_key_ = in_string_;
    }
    return at;
}

void prompt_counts::take(char byte) {
    switch (byte) {
    case '"':
        in_string_ = true;
        in_key_ = expects_key_ && here() != place::elsewhere;
        if (in_key_) {
            expects_key_ = false;
            key_.clear();
        }
        return;
    case '{':
        open(child_of_here());
        return;
    case '[':
        open(depth_ == 0 ? place::list : place::elsewhere);
        return;
    case '}':
    case ']':
        close();
        return;
    case ',':
        end_scalar();
        expects_key_ = true;
        return;
    case ':':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return;
    default:
        if (scalar_.size() < longest_scalar) {
            scalar_ += byte;
        }
    }
}

void prompt_counts::feed(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        if (in_string_) {
            at = pass_string(bytes, at);
        } else {
            take(bytes[at]);
            ++at;
        }
    }
}

} // namespace hibernate::llama

#pragma once
// How many tokens of a prompt came from the cache, read from one JSON document of llama-server.
//
// Each API tells it in its own way:
//
//     "timings":{"cache_n":R,"prompt_n":C,"prompt_ms":T}        completions and chat
//     "usage":{"prompt_tokens":R+C,"prompt_tokens_details":{"cached_tokens":R}}      likewise
//     "usage":{"input_tokens":R+C,"input_tokens_details":{"cached_tokens":R}}        /v1/responses
//     "usage":{"input_tokens":C,"cache_read_input_tokens":R}    /v1/messages
//
// They count at the top of the document, or of an element if that is a list (several prompts to
// /completion). "usage" also counts within "response" or "message" there, as events have it, and
// timings in their flat form "timings/cache_n", which is what "response_fields" makes of them.
// Anywhere else the same names are part of what the model wrote, like the arguments of a tool call,
// and within strings they are text.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hibernate::llama {

/// Tokens of a prompt.
struct receipt {
    std::uint64_t reused = 0;   ///< found in the slot, or in a cache that was loaded into it
    std::uint64_t computed = 0; ///< evaluated for this completion
    std::chrono::microseconds compute_time{0}; ///< for those; 0: not told

    friend bool operator==(const receipt&, const receipt&) = default;
};

/// Walks over a document that arrives in pieces, once, in constant memory. It does not check the
/// grammar: what is no JSON does no harm, and has no counts, or some that it seems to tell.
class prompt_counts {
public:
    void feed(std::string_view bytes);

    /// Forgets the document, as if the next byte were the first of another.
    void restart() { *this = {}; }

    /// Of the object that was complete last; timings are preferred to usage. Nothing where one of
    /// the two counts is missing or is no whole number.
    std::optional<receipt> result() const { return result_; }

private:
    /// What the innermost open object or list is.
    enum class place {
        elsewhere, ///< nothing in it counts
        list,      ///< the outermost one
        top,
        wrapper, ///< "response" or "message"
        timings,
        usage,
        details, ///< "prompt_tokens_details" or "input_tokens_details"
    };
    struct child;
    struct number;
    struct numbers {
        std::optional<std::uint64_t> cache_n, prompt_n;
        std::optional<std::uint64_t> prompt_tokens, input_tokens;
        std::optional<std::uint64_t> cached_tokens, cache_read_input_tokens;
        std::chrono::microseconds prompt_time{0};
    };

    std::size_t pass_string(std::string_view bytes, std::size_t at);
    void take(char byte);
    void open(place what);
    void close();
    void end_scalar();
    place here() const;
    place child_of_here() const;
    static std::optional<receipt> receipt_of(const numbers& from);

    static constexpr std::size_t most_places = 5; ///< list, top, wrapper, usage, details
    std::array<place, most_places> places_{};     ///< the open ones that count, from the outermost
    std::size_t places_open_ = 0;
    std::uint64_t depth_ = 0; ///< open objects and lists of all kinds

    bool in_string_ = false;
    bool escaped_ = false;     ///< the next byte of the string is
    bool expects_key_ = false; ///< the next string here is a key
    bool in_key_ = false;      ///< the string is one
    std::string key_;          ///< the last one here, or the start of a longer one
    std::string scalar_;       ///< the value behind it, as far as it can be a number

    numbers numbers_;
    std::optional<receipt> result_;
};

} // namespace hibernate::llama

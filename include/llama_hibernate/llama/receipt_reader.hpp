#pragma once
// What a completion's prompt cost, read from the response as it passes: pure.
//
// Facts: llama-server answers with one JSON document, or with a stream of events ("data: {...}"
// lines between empty ones) whose last or first tells the counts, or each one.

#include <cstddef>
#include <optional>
#include <string_view>

#include "llama_hibernate/llama/prompt_counts.hpp"

namespace hibernate::llama {

/// For one response. Takes its body in pieces of any size, looks at each byte once and keeps none
/// of them. Whether it is JSON or a stream of events shows its first byte; of anything else, like
/// an error or a page of HTML, there is no receipt.
class receipt_reader {
public:
    /// The next bytes of the body, without transfer or content coding.
    void feed(std::string_view decoded_body_bytes);

    /// What the body told last, so far. For several prompts or choices in one request that is what
    /// it told of one of them. Of a stream that breaks off it is what was computed until then.
    std::optional<receipt> result() const { return result_; }

private:
    enum class body_kind { unknown, json, events };

    void feed_events(std::string_view bytes);
    void feed_line(std::string_view part);
    void end_line();

    body_kind kind_ = body_kind::unknown;
    bool line_is_empty_ = true;
    bool line_has_data_ = true; ///< as far as its name was seen
    std::size_t name_seen_ = 0; ///< bytes of "data:" that the line began with
    prompt_counts document_;    ///< the body, or the data of one event
    std::optional<receipt> result_;
};

} // namespace hibernate::llama

#pragma once
// Where a message body ends. Bodies pass as raw bytes; this only finds their last one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace hibernate::proxy {

struct framing {
    enum class kind {
        none,        ///< no body follows the head, whatever the fields say
        length,      ///< exactly `length` bytes
        chunked,     ///< chunks, the last chunk, trailers, an empty line
        until_close, ///< responses only: the end of the connection is the end of the body
    };
    kind how = kind::none;
    std::uint64_t length = 0;
};

/// Is shown a stretch of payload where it lies.
using payload_viewer = std::function<void(std::string_view)>;

/// Follows the chunked coding byte by byte, but jumps over payloads, so that the cost is per chunk.
/// Strict: CRLF line ends only, a size is 1 to 16 hex digits, and the bytes of one chunk line, and
/// of all trailers, are bounded.
class chunk_scanner {
public:
    /// How many of these bytes belong to the body: all of them, unless it ends among them or is
    /// malformed (then those before the offending byte).
    std::size_t scan(std::string_view bytes);
    /// Likewise, and shows the payload among them, in order; no stretch is empty.
    std::size_t scan(std::string_view bytes, const payload_viewer& show);

    struct extracted {
        std::size_t scanned; ///< as scan() would tell
        std::size_t payload; ///< bytes of payload, now at the front
    };
    /// Like scan(), and moves the payload alone to the front of the bytes.
    extracted extract(std::span<char> bytes);

    bool done() const noexcept { return at_ == place::end; }
    bool malformed() const noexcept { return at_ == place::error; }

private:
    enum class place {
        size_start,   ///< the first digit of a chunk size
        size,         ///< further digits
        extension,    ///< the rest of the chunk line
        size_lf,      ///< the LF of the chunk line
        payload,      ///< left_ bytes of it
        payload_cr,   ///< the CR that follows them
        payload_lf,   ///< and its LF
        trailer,      ///< the first byte of a trailer line, or of the empty one
        trailer_line, ///< the rest of it
        trailer_lf,   ///< its LF
        final_lf,     ///< the LF of the empty line
        end,
        error,
    };

    template <typename OnPayload>
    std::size_t walk(std::string_view bytes, OnPayload&& on_payload);
    place step(char byte);
    place step_size(char byte);
    place bounded(place next, std::size_t limit);

    place at_ = place::size_start;
    std::uint64_t left_ = 0;     ///< of the payload; while in the size: its value so far
    std::size_t digits_ = 0;     ///< of the size
    std::size_t line_bytes_ = 0; ///< of this chunk line, or of all trailers
};

/// The end of a body of any framing.
class body_scanner {
public:
    explicit body_scanner(const framing& body) : how_(body.how), left_(body.length) {}

    /// As chunk_scanner::scan; payload is everything where the framing is not chunked.
    std::size_t scan(std::string_view bytes);
    std::size_t scan(std::string_view bytes, const payload_viewer& show);
    /// As chunk_scanner::extract.
    chunk_scanner::extracted extract(std::span<char> bytes);

    bool done() const noexcept;
    bool malformed() const noexcept { return chunks_.malformed(); }

private:
    framing::kind how_;
    std::uint64_t left_;
    chunk_scanner chunks_;
};

} // namespace hibernate::proxy

#include "llama_hibernate/proxy/framing.hpp"

#include <algorithm>
#include <cstring>

namespace hibernate::proxy {

namespace {

constexpr std::size_t max_size_digits = 16;
constexpr std::size_t max_chunk_line = std::size_t{16} * 1024;
constexpr std::size_t max_trailers = std::size_t{64} * 1024;

int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    if (byte >= 'A' && byte <= 'F') {
        return byte - 'A' + 10;
    }
    return -1;
}

} // namespace

chunk_scanner::place chunk_scanner::bounded(place next, std::size_t limit) {
    return ++line_bytes_ > limit ? place::error : next;
}

chunk_scanner::place chunk_scanner::step_size(char byte) {
    const int digit = hex_digit(byte);
    if (digit >= 0) {
        left_ = left_ * 16 + static_cast<unsigned>(digit);
        return ++digits_ > max_size_digits ? place::error : place::size;
    }
    if (digits_ == 0) {
        return place::error;
    }
    if (byte == '\r') {
        return place::size_lf;
    }
    return byte == ';' ? place::extension : place::error;
}

chunk_scanner::place chunk_scanner::step(char byte) {
    switch (at_) {
    case place::size_start:
        left_ = 0;
        digits_ = 0;
        line_bytes_ = 0;
        return step_size(byte);
    case place::size:
        return step_size(byte);
    case place::extension:
        if (byte == '\n') {
            return place::error;
        }
        return byte == '\r' ? place::size_lf : bounded(place::extension, max_chunk_line);
    case place::size_lf:
        if (byte != '\n') {
            return place::error;
        }
        line_bytes_ = 0;
        return left_ == 0 ? place::trailer : place::payload;
    case place::payload_cr:
        return byte == '\r' ? place::payload_lf : place::error;
    case place::payload_lf:
        return byte == '\n' ? place::size_start : place::error;
    case place::trailer:
        if (byte == '\r') {
            return place::final_lf;
        }
        [[fallthrough]];
    case place::trailer_line:
        if (byte == '\n') {
            return place::error;
        }
        return byte == '\r' ? place::trailer_lf : bounded(place::trailer_line, max_trailers);
    case place::trailer_lf:
        return byte == '\n' ? place::trailer : place::error;
    case place::final_lf:
        return byte == '\n' ? place::end : place::error;
    case place::payload: // walk() passes over it
    case place::end:
    case place::error:
        break;
    }
    return at_;
}

template <typename OnPayload>
std::size_t chunk_scanner::walk(std::string_view bytes, OnPayload&& on_payload) {
    std::size_t position = 0;
    while (position < bytes.size() && !done() && !malformed()) {
        if (at_ == place::payload) {
            const auto here =
                static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - position));
            on_payload(position, here);
            position += here;
            left_ -= here;
            at_ = left_ == 0 ? place::payload_cr : place::payload;
            continue;
        }
        at_ = step(bytes[position]);
        position += malformed() ? 0 : 1;
    }
    return position;
}

std::size_t chunk_scanner::scan(std::string_view bytes) {
    return walk(bytes, [](std::size_t, std::size_t) {});
}

std::size_t chunk_scanner::scan(std::string_view bytes, const payload_viewer& show) {
    return walk(bytes, [&](std::size_t from, std::size_t size) { show(bytes.substr(from, size)); });
}

chunk_scanner::extracted chunk_scanner::extract(std::span<char> bytes) {
    std::size_t payload = 0;
    const auto keep = [&](std::size_t from, std::size_t size) {
        std::memmove(bytes.data() + payload, bytes.data() + from, size);
        payload += size;
    };
    const auto scanned = walk({bytes.data(), bytes.size()}, keep);
    return {scanned, payload};
}

std::size_t body_scanner::scan(std::string_view bytes) {
    switch (how_) {
    case framing::kind::none:
        return 0;
    case framing::kind::length: {
        const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        left_ -= taken;
        return taken;
    }
    case framing::kind::chunked:
        return chunks_.scan(bytes);
    case framing::kind::until_close:
        break;
    }
    return bytes.size();
}

std::size_t body_scanner::scan(std::string_view bytes, const payload_viewer& show) {
    if (how_ == framing::kind::chunked) {
        return chunks_.scan(bytes, show);
    }
    const auto taken = scan(bytes);
    if (taken > 0) {
        show(bytes.substr(0, taken));
    }
    return taken;
}

chunk_scanner::extracted body_scanner::extract(std::span<char> bytes) {
    if (how_ == framing::kind::chunked) {
        return chunks_.extract(bytes);
    }
    const auto taken = scan({bytes.data(), bytes.size()});
    return {taken, taken};
}

bool body_scanner::done() const noexcept {
    switch (how_) {
    case framing::kind::none:
        return true;
    case framing::kind::length:
        return left_ == 0;
    case framing::kind::chunked:
        return chunks_.done();
    case framing::kind::until_close:
        break;
    }
    return false;
}

} // namespace hibernate::proxy

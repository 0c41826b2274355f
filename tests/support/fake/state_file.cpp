#include "state_file.hpp"

#include <cstring>

namespace fake {
namespace {

constexpr std::uint32_t magic = 0x67677371;

void put(std::string& out, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
        out.push_back(static_cast<char>((value >> shift) & 0xffU));
}

/// Reads numbers off the front; once the bytes are used up every number is 0.
class reader {
public:
    explicit reader(const std::string& bytes) : bytes_(bytes) {}

    std::uint32_t number() {
        if (bytes_.size() - at_ < 4) {
            short_ = true;
            return 0;
        }
        std::uint32_t value = 0;
        for (int i = 3; i >= 0; --i)
            value =
                value << 8 | static_cast<unsigned char>(bytes_[at_ + static_cast<std::size_t>(i)]);
        at_ += 4;
        return value;
    }
    bool ran_short() const { return short_; }
    std::size_t remaining() const { return bytes_.size() - at_; }

private:
    const std::string& bytes_;
    std::size_t at_ = 0;
    bool short_ = false;
};

} // namespace

std::string encode_state(const token_list& tokens, const state_format& format) {
    std::string out;
    put(out, magic);
    put(out, format.version);
    put(out, static_cast<std::uint32_t>(tokens.size() + 4));
    put(out, 0xffffffffU);
    put(out, 1);
    put(out, static_cast<std::uint32_t>(tokens.size()));
    for (const std::int32_t token : tokens)
        put(out, static_cast<std::uint32_t>(token));
    put(out, 0);
    put(out, format.stream_count);
    put(out, static_cast<std::uint32_t>(tokens.size()));
    for (std::uint32_t stream = 1; stream < format.stream_count; ++stream)
        put(out, 0);
    for (std::size_t position = 0; position < tokens.size(); ++position) {
        put(out, static_cast<std::uint32_t>(position));
        put(out, 1);
        put(out, 0);
        for (std::size_t i = 0; i < format.bytes_per_token; ++i)
            out.push_back(static_cast<char>(
                (position + i + static_cast<std::size_t>(format.weights)) & 0x7fU));
    }
    return out;
}

state_verdict
decode_state(const std::string& bytes, const state_format& format, token_list& tokens) {
    reader in(bytes);
    if (in.number() != magic || in.number() != format.version)
        return state_verdict::refused;
    const std::uint32_t words = in.number();
    if (words < 4 || in.remaining() / 4 < words)
        return state_verdict::refused;
    if (in.number() != 0xffffffffU || in.number() != 1 || in.number() != words - 4)
        return state_verdict::refused;
    tokens.clear();
    for (std::uint32_t i = 0; i < words - 4; ++i)
        tokens.push_back(static_cast<std::int32_t>(in.number()));
    in.number(); // media
    if (in.number() != format.stream_count)
        return state_verdict::refused;
    // Nobody compares it with the tokens.
    const std::size_t cells = in.number();
    for (std::uint32_t stream = 1; stream < format.stream_count; ++stream)
        in.number();
    if (in.ran_short())
        return state_verdict::refused;
    const std::size_t needed = cells * (12 + format.bytes_per_token);
    if (in.remaining() >= needed)
        return state_verdict::good;
    return needed - in.remaining() <= 4 ? state_verdict::aborting : state_verdict::refused;
}

int weights_in(const std::string& bytes, const state_format& format) {
    std::size_t words = 0;
    for (std::size_t i = 4; i-- > 0;)
        words = words << 8 | static_cast<unsigned char>(bytes.at(8 + i));
    return bytes.at(12 + 4 * words + 4 + 4 * format.stream_count + 12);
}

} // namespace fake

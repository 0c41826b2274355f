#pragma once
// XXH3: fast, not cryptographic. It finds damage and tells contents apart; it defends against
// nobody.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace hibernate {

/// 64 bits of XXH3 over a text, as 16 lower-case hex digits.
std::string hash64_hex(std::string_view bytes);

/// 64 bits of XXH3 over bytes, with a seed: the hash of what came before, say.
std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed);

/// XXH3-128 over bytes that arrive in pieces.
class hasher128 {
public:
    hasher128();
    ~hasher128();
    hasher128(const hasher128&) = delete;
    hasher128& operator=(const hasher128&) = delete;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text))); }

    /// 32 lower-case hex digits of everything so far.
    std::string hex() const;

private:
    XXH3_state_s* state_;
};

} // namespace hibernate

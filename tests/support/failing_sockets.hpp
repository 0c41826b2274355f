#pragma once
// Lets one chosen socket call of the proxy fail, in a test that plays its client and its child in
// the same process. Replaces the C library's calls in whatever executable this is linked into.

#include <cstddef>
#include <cstdint>

namespace hibernate::test {

/// While it lives: of the proxy's calls that send, receive or connect, the one with this number
/// (from 0) fails with ECONNRESET, and all later ones on the same socket as well.
class failing_call {
public:
    failing_call(std::uint16_t proxy_port, std::uint16_t child_port, std::size_t number);
    ~failing_call();
    failing_call(const failing_call&) = delete;
    failing_call& operator=(const failing_call&) = delete;

    /// Whether there was such a call.
    bool has_failed() const;
};

} // namespace hibernate::test

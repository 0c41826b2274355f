#pragma once
// What the harnesses share. Each is one function that is called with any bytes there are.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace hibernate::test {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// What must hold for any input; the fuzzer keeps the input for which it does not.
inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

} // namespace hibernate::test

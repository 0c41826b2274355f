#include "llama_hibernate/base/hash.hpp"

#include <new>

#include <fmt/core.h>
#include <xxhash.h>

namespace hibernate {

std::string hash64_hex(std::string_view bytes) {
    return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

hasher128::hasher128() : state_(XXH3_createState()) {
    if (state_ == nullptr) {
        throw std::bad_alloc();
    }
    XXH3_128bits_reset(state_);
}

hasher128::~hasher128() {
    XXH3_freeState(state_);
}

void hasher128::update(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_, bytes.data(), bytes.size());
}

std::string hasher128::hex() const {
    const auto digest = XXH3_128bits_digest(state_);
    return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

} // namespace hibernate

#include "llama_hibernate/admin/api_keys.hpp"

#include <array>

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace hibernate::admin {

namespace {

using digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

digest digest_of(std::string_view text) {
    digest result{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), result.data());
    return result;
}

} // namespace

bool api_keys::admit(
    std::optional<std::string_view> authorization, std::optional<std::string_view> api_key) const {
    if (keys_.empty()) {
        return true;
    }
    auto given = authorization.value_or("");
    if (given.empty()) {
        given = api_key.value_or("");
    }
    constexpr std::string_view scheme = "Bearer ";
    if (given.starts_with(scheme)) {
        given.remove_prefix(scheme.size());
    }
    // Digests have one length, so that a comparison cannot tell how long a key is.
    const auto offered = digest_of(given);
    bool found = false;
    for (const auto& key : keys_) {
        const auto wanted = digest_of(key);
        const bool equal = CRYPTO_memcmp(offered.data(), wanted.data(), offered.size()) == 0;
        found = equal || found;
    }
    return found;
}

} // namespace hibernate::admin

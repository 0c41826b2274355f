#include "llama_hibernate/admin/page.hpp"

#include <array>

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "page_text.hpp"

namespace hibernate::admin {

namespace {

/// What stands in the first element of that name.
std::string_view content_of(std::string_view page, const std::string& element) {
    const auto opening = "<" + element + ">";
    const auto begin = page.find(opening) + opening.size();
    return page.substr(begin, page.find("</" + element + ">") - begin);
}

/// As a policy names it: "'sha256-...'".
std::string hash_source_of(std::string_view text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    std::array<unsigned char, std::size_t{2} * SHA256_DIGEST_LENGTH> base64{};
    const int length = EVP_EncodeBlock(base64.data(), digest.data(), SHA256_DIGEST_LENGTH);
    return fmt::format(
        "'sha256-{}'",
        std::string_view(
            reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length)));
}

} // namespace

std::string_view page() {
    return page_text;
}

const std::string& page_policy() {
    static const std::string policy = fmt::format(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash_source_of(content_of(page_text, "script")),
        hash_source_of(content_of(page_text, "style")));
    return policy;
}

} // namespace hibernate::admin

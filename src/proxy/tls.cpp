#include "llama_hibernate/proxy/tls.hpp"

#include <array>

#include <openssl/ssl.h>

#include "llama_hibernate/base/error.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;

namespace {

// A length byte before each name.
constexpr std::array<unsigned char, 9> http_1_1 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// A client that offers other protocols only is served all the same: it may speak HTTP/1.1.
int choose_protocol(
    SSL*,
    const unsigned char** chosen,
    unsigned char* chosen_size,
    const unsigned char* offered,
    unsigned offered_size,
    void*) {
    unsigned char* found = nullptr;
    const int result = SSL_select_next_proto(
        &found, chosen_size, http_1_1.data(), http_1_1.size(), offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

} // namespace

asio::ssl::context
make_tls_context(const std::string& key_file, const std::string& certificate_file) {
    asio::ssl::context context(asio::ssl::context::tls_server);
    ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    ::SSL_CTX_set_alpn_select_cb(context.native_handle(), choose_protocol, nullptr);
    boost::system::error_code error;
    context.use_certificate_chain_file(certificate_file, error);
    if (error) {
        throw startup_error(
            "The TLS certificate " + certificate_file + " cannot be used: " + error.message() +
            ".");
    }
    // llama-server has no password for it either; OpenSSL would ask on the terminal, and wait.
    context.set_password_callback(
        [](std::size_t, asio::ssl::context::password_purpose) { return std::string(); }, error);
    context.use_private_key_file(key_file, asio::ssl::context::pem, error);
    if (error) {
        throw startup_error(
            "The TLS key " + key_file + " cannot be used: " + error.message() + ".");
    }
    return context;
}

} // namespace hibernate::proxy

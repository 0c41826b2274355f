#pragma once
// Asks a running llama-hibernate for its status: one GET on one connection.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hibernate::commands {

struct server_url {
    enum class kind { http, https, unix_socket };
    kind how = kind::http;
    std::string host;   ///< without the brackets of an IPv6 address; of a socket its path
    std::string port;   ///< none on a socket
    std::string prefix; ///< "" or "/prefix": what stands before every path

    friend bool operator==(const server_url&, const server_url&) = default;
};

/// "http://HOST[:PORT][/PREFIX]", the same with https, "HOST:PORT", or "unix:/PATH.sock[/PREFIX]";
/// nothing for anything else. Pure.
std::optional<server_url> read_url(std::string_view text);

/// An answer, or why there is none.
struct fetched {
    unsigned status = 0; ///< 0: nothing answers, as the problem says
    std::string body;
    std::string problem;
};

/// A certificate is verified against those that the system trusts (or SSL_CERT_FILE), unless the
/// other side is on this machine's loopback: there it is mostly one that the user made, and whoever
/// can listen there could take the place of a server without TLS just as well.
fetched fetch_status(
    const server_url& from, const std::string& api_key, std::chrono::milliseconds patience);

} // namespace hibernate::commands

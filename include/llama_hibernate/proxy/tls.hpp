#pragma once
// TLS as llama-server's --ssl-key-file and --ssl-cert-file ask for it.

#include <string>

#include <boost/asio/ssl/context.hpp>

namespace hibernate::proxy {

/// TLS 1.2 or newer, ALPN "http/1.1". Throws startup_error for files it cannot use.
boost::asio::ssl::context
make_tls_context(const std::string& key_file, const std::string& certificate_file);

} // namespace hibernate::proxy

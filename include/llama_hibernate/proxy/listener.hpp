#pragma once
// Where clients connect: the addresses and socket paths that llama-server would have listened on.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include "llama_hibernate/proxy/client_stream.hpp"

namespace hibernate::proxy {

class listener {
public:
    using on_client = std::function<void(client_socket)>;

    /// accepted is called for each client until close().
    listener(boost::asio::io_context& context, on_client accepted);
    ~listener(); ///< closes
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    /// Binds all hosts (addresses, names with all of their addresses, paths that end in ".sock")
    /// and starts to accept, or does nothing of it and tells why. With port 0, the first one that
    /// is bound chooses the port for all. "::" takes IPv4 clients as well if it is the only
    /// address. A socket file on which nobody answers is replaced.
    boost::system::error_code
    listen(const std::vector<std::string>& hosts, std::uint16_t port, bool reuse_port);

    /// "127.0.0.1:8080", "[::1]:8080" or a socket path, in the order of binding.
    std::vector<std::string> addresses() const;

    /// Stops, and removes our own socket files.
    void close();

private:
    struct binding;
    struct accepting;

    boost::asio::io_context& context_;
    std::shared_ptr<accepting> accepting_;
};

} // namespace hibernate::proxy

#pragma once
// The socket of a service manager (systemd's, or any that speaks sd_notify's protocol): each
// message is one datagram of "NAME=value" lines. Where nobody gave us one, nothing is sent.
//
// Nothing here waits: a manager that is slow, restarts or has gone must not hold up anybody.

#include <string>
#include <string_view>

namespace hibernate {

class notify_socket {
public:
    /// address is the value of NOTIFY_SOCKET: an absolute path, or '@' and an abstract name
    /// (Linux). Empty, or anything else: there is nobody to tell.
    explicit notify_socket(std::string_view address);
    ~notify_socket();
    notify_socket(const notify_socket&) = delete;
    notify_socket& operator=(const notify_socket&) = delete;

    /// Whether there is somebody to tell.
    bool is_open() const noexcept { return descriptor_ >= 0; }

    /// False if the message did not get there, at this moment.
    bool send(std::string_view message) noexcept;

private:
    int descriptor_ = -1;
    std::string address_; ///< as the system takes it
};

} // namespace hibernate

#include "llama_hibernate/base/notify_socket.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace hibernate {

namespace {

/// The bytes of sun_path; empty if the address cannot be one.
std::string socket_path(std::string_view address) {
    // A path ends with a NUL, an abstract name begins with one and ends where its length says.
    const bool is_path = address.starts_with('/');
    const bool is_abstract = address.starts_with('@') && address.size() > 1;
    const auto size = address.size() + (is_path ? 1 : 0);
    if ((!is_path && !is_abstract) || size > sizeof(sockaddr_un::sun_path)) {
        return {};
    }
    std::string path(address);
    if (is_abstract) {
        path[0] = '\0';
    } else {
        path += '\0';
    }
    return path;
}

int open_socket() {
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    if (descriptor < 0) {
        return -1;
    }
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 || flags < 0 ||
        ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

} // namespace

notify_socket::notify_socket(std::string_view address) : address_(socket_path(address)) {
    if (!address_.empty()) {
        descriptor_ = open_socket();
    }
}

notify_socket::~notify_socket() {
    if (is_open()) {
        ::close(descriptor_);
    }
}

bool notify_socket::send(std::string_view message) noexcept {
    if (!is_open()) {
        return false;
    }
    // Not connected: a manager that was restarted has another socket at the same address.
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    ssize_t sent = 0;
    do {
        sent = ::sendto(
            descriptor_, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&to),
            size);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(message.size());
}

} // namespace hibernate

#include "failing_sockets.hpp"

#include <cerrno>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

namespace hibernate::test {

namespace {

struct plan {
    bool armed = false;
    std::uint16_t proxy_port = 0;
    std::uint16_t child_port = 0;
    std::size_t calls_until = 0;
    int broken_socket = -1; ///< the one that has failed
};

plan present; // the calls below have no other way to know of it

template <typename Ask>
std::uint16_t port_of(Ask ask, int descriptor) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    const bool known = ask(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                       address.sin_family == AF_INET;
    return known ? ntohs(address.sin_port) : 0;
}

/// The proxy's ends are those that its listener accepted, and those that lead to the child.
bool fails(int descriptor, std::uint16_t peer_port) {
    if (!present.armed) {
        return false;
    }
    const int before = errno;
    const bool is_proxys =
        peer_port == present.child_port || port_of(getsockname, descriptor) == present.proxy_port;
    errno = before;
    if (!is_proxys) {
        return false;
    }
    if (present.broken_socket < 0 && present.calls_until-- == 0) {
        present.broken_socket = descriptor;
    }
    if (present.broken_socket != descriptor) {
        return false;
    }
    errno = ECONNRESET;
    return true;
}

bool fails(int descriptor) {
    return present.armed && fails(descriptor, port_of(getpeername, descriptor));
}

template <typename Call>
Call* c_library(const char* name) {
    return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

} // namespace

failing_call::failing_call(std::uint16_t proxy_port, std::uint16_t child_port, std::size_t number) {
    present = {true, proxy_port, child_port, number, -1};
}

failing_call::~failing_call() {
    present = {};
}

bool failing_call::has_failed() const {
    return present.broken_socket >= 0;
}

} // namespace hibernate::test

using hibernate::test::c_library;
using hibernate::test::fails;

extern "C" {

ssize_t send(int descriptor, const void* bytes, size_t size, int flags) {
    static auto* const real = c_library<decltype(send)>("send");
    return fails(descriptor) ? -1 : real(descriptor, bytes, size, flags);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
    static auto* const real = c_library<decltype(sendmsg)>("sendmsg");
    return fails(descriptor) ? -1 : real(descriptor, message, flags);
}

ssize_t recv(int descriptor, void* bytes, size_t size, int flags) {
    static auto* const real = c_library<decltype(recv)>("recv");
    return fails(descriptor) ? -1 : real(descriptor, bytes, size, flags);
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
    static auto* const real = c_library<decltype(recvmsg)>("recvmsg");
    return fails(descriptor) ? -1 : real(descriptor, message, flags);
}

int connect(int descriptor, const sockaddr* address, socklen_t size) {
    static auto* const real = c_library<decltype(connect)>("connect");
    const auto* const target = reinterpret_cast<const sockaddr_in*>(address);
    const bool fails_now =
        address->sa_family == AF_INET && fails(descriptor, ntohs(target->sin_port));
    return fails_now ? -1 : real(descriptor, address, size);
}

} // extern "C"

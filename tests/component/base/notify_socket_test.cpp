#include "llama_hibernate/base/notify_socket.hpp"

#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace hibernate;

namespace {

/// The manager's end.
class manager {
public:
    explicit manager(const std::string& bytes) : descriptor_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un own{};
        own.sun_family = AF_UNIX;
        std::memcpy(own.sun_path, bytes.data(), bytes.size());
        const auto size = offsetof(sockaddr_un, sun_path) + bytes.size();
        REQUIRE(
            ::bind(
                descriptor_, reinterpret_cast<const sockaddr*>(&own),
                static_cast<socklen_t>(size)) == 0);
    }
    ~manager() { ::close(descriptor_); }
    manager(const manager&) = delete;
    manager& operator=(const manager&) = delete;

    std::optional<std::string> take() const {
        char buffer[4096];
        const auto count = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
        return count < 0 ? std::nullopt
                         : std::optional(std::string(buffer, static_cast<std::size_t>(count)));
    }

private:
    int descriptor_;
};

} // namespace

TEST_CASE("a message is one datagram at the manager's path") {
    const test::temporary_directory directory;
    const auto path = (directory.path() / "notify").string();
    notify_socket socket(path);
    REQUIRE(socket.is_open());
    CHECK_FALSE(socket.send("READY=1")); // nobody is there yet
    {
        const manager first(path);
        CHECK(socket.send("READY=1\nSTATUS=ready"));
        CHECK(first.take() == "READY=1\nSTATUS=ready");
        CHECK_FALSE(first.take());
    }
    CHECK_FALSE(socket.send("STATUS=lost"));
    ::unlink(path.c_str());
    const manager second(path);
    CHECK(socket.send("STATUS=again"));
    CHECK(second.take() == "STATUS=again");
}

#if defined(__linux__)
TEST_CASE("an address with @ is a name that is no file") {
    const auto name = "hibernate-test-" + std::to_string(::getpid());
    const manager there(std::string(1, '\0') + name);
    notify_socket socket("@" + name);
    CHECK(socket.send("READY=1"));
    CHECK(there.take() == "READY=1");
}
#endif

TEST_CASE("a manager that does not read holds nobody up") {
    const test::temporary_directory directory;
    const auto path = (directory.path() / "notify").string();
    const manager busy(path);
    notify_socket socket(path);
    int sent = 0;
    while (sent != 100'000 && socket.send("WATCHDOG=1")) {
        ++sent;
    }
    CHECK(sent < 100'000); // it is full, and we are here
    CHECK(sent > 0);
    while (busy.take()) {
    }
    CHECK(socket.send("WATCHDOG=1"));
}

TEST_CASE("what is no address is nobody to tell") {
    for (const std::string wrong : {"", "@", "relative", "vsock:2:1", "/"}) {
        CAPTURE(wrong);
        CHECK_FALSE(notify_socket(wrong).send("READY=1"));
    }
    CHECK_FALSE(notify_socket("/" + std::string(200, 'x')).is_open());
    CHECK_FALSE(notify_socket("").is_open());
}

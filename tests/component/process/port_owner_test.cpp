#include "llama_hibernate/process/port_owner.hpp"

#include <fstream>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "llama_hibernate/base/platform.hpp"
#include "llama_hibernate/process/free_port.hpp"

using namespace hibernate::process;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// Whether the system tells who has a port. Where it does not, nobody is taken for anybody.
bool tells() {
#if defined(HIBERNATE_LINUX)
    return std::ifstream("/proc/self/net/tcp").good();
#else
    return false;
#endif
}

/// For a case that cannot be, with the reason.
void skip_since_nobody_tells() {
    WARN("skipped: this build asks no system who listens on a port");
    asio::io_context context;
    tcp::acceptor listening(context, {asio::ip::address_v4::loopback(), 0});
    CHECK(who_listens(listening.local_endpoint().port(), getpid()) == port_owner::unknown);
}

/// A process that does nothing, in a session of its own, until it goes out of scope. With depth 1
/// it is the child of one that leads the session, and so on; each keeps our descriptors or not.
class bystander {
public:
    explicit bystander(bool keeps_descriptors, int depth = 0) {
        int ready[2] = {-1, -1};
        REQUIRE(pipe(ready) == 0);
        leader_ = fork();
        REQUIRE(leader_ >= 0);
        if (leader_ == 0) {
            live(ready[1], keeps_descriptors, depth);
        }
        close(ready[1]);
        char byte = 0;
        REQUIRE(read(ready[0], &byte, 1) == 1);
        close(ready[0]);
    }
    ~bystander() {
        kill(-leader_, SIGKILL);
        kill(leader_, SIGKILL);
        waitpid(leader_, nullptr, 0);
    }
    bystander(const bystander&) = delete;
    bystander& operator=(const bystander&) = delete;

    int pid() const { return leader_; }

private:
    // Between fork and its end: async-signal-safe calls only.
    [[noreturn]] static void live(int ready, bool keeps_descriptors, int depth) {
        setsid();
        for (int level = 0; level < depth; ++level) {
            const int next = fork();
            if (next != 0) {
                close_all_but(-1);
                sleep_for_ever();
            }
        }
        if (!keeps_descriptors) {
            close_all_but(ready);
        }
        [[maybe_unused]] const auto written = write(ready, "r", 1);
        sleep_for_ever();
    }
    static void close_all_but(int kept) {
        for (int descriptor = 3; descriptor < 256; ++descriptor) {
            if (descriptor != kept) {
                close(descriptor);
            }
        }
    }
    [[noreturn]] static void sleep_for_ever() {
        for (;;) {
            pause();
        }
    }

    int leader_ = -1;
};

} // namespace

TEST_CASE("a port on which nobody listens has no owner") {
    if (!tells()) {
        return skip_since_nobody_tells();
    }
    asio::io_context context;
    const auto port = find_free_port(context);
    REQUIRE(port.has_value());
    CHECK(who_listens(*port, getpid()) == port_owner::nobody);
    // Bound is not listening.
    tcp::acceptor bound(context);
    bound.open(tcp::v4());
    bound.bind({asio::ip::address_v4::loopback(), *port});
    CHECK(who_listens(*port, getpid()) == port_owner::nobody);
}

TEST_CASE("the owner of a port is the child, or what it started, or a stranger") {
    if (!tells()) {
        return skip_since_nobody_tells();
    }
    asio::io_context context;
    tcp::acceptor listening(context, {asio::ip::address_v4::loopback(), 0});
    const auto port = listening.local_endpoint().port();
    CHECK_FALSE(is_free_port(context, port));
    CHECK(who_listens(port, getpid()) == port_owner::child);

    const bystander other(false);
    CHECK(who_listens(port, other.pid()) == port_owner::stranger);
    const bystander inherits(true);
    const bystander heir(true, 2);
    listening.close();
    CHECK(who_listens(port, inherits.pid()) == port_owner::child);
    CHECK(who_listens(port, heir.pid()) == port_owner::child);
    CHECK(who_listens(port, other.pid()) == port_owner::stranger);
}

TEST_CASE("who listens on every address gets our connection as well") {
    if (!tells()) {
        return skip_since_nobody_tells();
    }
    const bystander other(false);
    asio::io_context context;
    tcp::acceptor every(context, {asio::ip::address_v4::any(), 0});
    const auto port = every.local_endpoint().port();
    CHECK(who_listens(port, getpid()) == port_owner::child);
    CHECK(who_listens(port, other.pid()) == port_owner::stranger);

    boost::system::error_code no_ipv6;
    tcp::acceptor both(context);
    both.open(tcp::v6(), no_ipv6);
    if (!no_ipv6) {
        both.set_option(asio::ip::v6_only(false));
        both.bind({asio::ip::address_v6::any(), 0});
        both.listen();
        const auto dual = both.local_endpoint().port();
        CHECK(who_listens(dual, getpid()) == port_owner::child);
        CHECK(who_listens(dual, other.pid()) == port_owner::stranger);
    }
}

TEST_CASE("a stranger that shares the port is a stranger") {
    if (!tells()) {
        return skip_since_nobody_tells();
    }
    using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
    asio::io_context context;
    const auto listen_on = [&](std::uint16_t port) {
        tcp::acceptor one(context);
        one.open(tcp::v4());
        one.set_option(reuse_port(true));
        one.bind({asio::ip::address_v4::loopback(), port});
        one.listen();
        return one;
    };
    auto first = listen_on(0);
    const auto port = first.local_endpoint().port();
    const bystander has_first(true);
    const auto second = listen_on(port);
    CHECK(who_listens(port, getpid()) == port_owner::child);
    CHECK(who_listens(port, has_first.pid()) == port_owner::stranger);
}

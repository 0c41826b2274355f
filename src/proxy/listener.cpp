#include "llama_hibernate/proxy/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/core.h>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

using stream_acceptor =
    asio::basic_socket_acceptor<asio::generic::stream_protocol, asio::io_context::executor_type>;

/// Which file a path names; another one may take its place.
struct file_identity {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const file_identity&) const = default;
};

file_identity identity_of(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 ? file_identity{about.st_dev, about.st_ino}
                                              : file_identity{};
}

bool is_socket_path(const std::string& host) {
    return host.ends_with(".sock");
}

std::string without_brackets(const std::string& host) {
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

/// Does not wait for somebody whose queue is full.
bool nobody_listens_on(const asio::local::stream_protocol::endpoint& at) {
    asio::io_context context;
    asio::local::stream_protocol::socket probe(context);
    error_code error;
    probe.open(at.protocol(), error);
    if (!error) {
        probe.native_non_blocking(true, error);
    }
    return !error && ::connect(probe.native_handle(), at.data(), at.size()) != 0 &&
           errno == ECONNREFUSED;
}

/// The address family or the address itself does not exist on this machine.
bool is_absent(const error_code& error) {
    return error == asio::error::address_family_not_supported ||
           error == boost::system::errc::address_not_available;
}

} // namespace

struct listener::binding {
    explicit binding(asio::io_context& context) : acceptor(context.get_executor()) {}

    stream_acceptor acceptor;
    std::string address;     ///< as addresses() tells it
    std::string socket_path; ///< empty for TCP
    file_identity socket_file;

    void open_tcp(const tcp::endpoint& at, bool reuse_port, bool only_v6, error_code& error);
    void open_path(const std::string& path, error_code& error);
    std::uint16_t port() const;
    void close();

private:
    void start(const asio::generic::stream_protocol::endpoint& at, error_code& error) {
        if (!error) {
            acceptor.bind(at, error);
        }
    }
};

void listener::binding::open_tcp(
    const tcp::endpoint& at, bool reuse_port, bool only_v6, error_code& error) {
    acceptor.open(asio::generic::stream_protocol(at.protocol()), error);
    if (error) {
        return;
    }
    // A port in TIME_WAIT is free for us: llama-swap starts the next instance at once.
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
#ifdef SO_REUSEPORT
    if (reuse_port) {
        const int yes = 1;
        ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    }
#endif
    if (at.address().is_v6()) {
        acceptor.set_option(asio::ip::v6_only(only_v6), error);
    }
    start(at, error);
    if (!error) {
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (!error) {
        const auto host = at.address().to_string();
        address = at.address().is_v6() ? fmt::format("[{}]:{}", host, port())
                                       : fmt::format("{}:{}", host, port());
    }
}

void listener::binding::open_path(const std::string& path, error_code& error) {
    using local = asio::local::stream_protocol;
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        error = asio::error::name_too_long;
        return;
    }
    const local::endpoint at(path);
    struct stat about {};
    if (::lstat(path.c_str(), &about) == 0) {
        if (!S_ISSOCK(about.st_mode) || !nobody_listens_on(at)) {
            error = asio::error::address_in_use;
            return;
        }
        ::unlink(path.c_str());
    }
    acceptor.open(asio::generic::stream_protocol(local()), error);
    start(at, error);
    if (error) {
        return;
    }
    socket_path = path;
    socket_file = identity_of(path);
    address = path;
    // Nobody can connect before listen(), so nobody connects with other rights than these.
    constexpr mode_t owner_and_group = 0660;
    if (::chmod(path.c_str(), owner_and_group) != 0) {
        error = error_code(errno, boost::system::system_category());
        return;
    }
    acceptor.listen(asio::socket_base::max_listen_connections, error);
}

std::uint16_t listener::binding::port() const {
    error_code ignored;
    const auto bound = acceptor.local_endpoint(ignored);
    tcp::endpoint at;
    std::memcpy(at.data(), bound.data(), std::min(bound.size(), at.capacity()));
    return at.port();
}

void listener::binding::close() {
    error_code ignored;
    acceptor.close(ignored);
    // The path may be another instance's by now.
    if (!socket_path.empty() && identity_of(socket_path) == socket_file) {
        ::unlink(socket_path.c_str());
    }
    socket_path.clear();
}

/// Shared with the coroutines that accept.
struct listener::accepting {
    std::list<binding> bindings;
    on_client accepted;

    static awaitable<void> run(std::shared_ptr<accepting> self, binding& at);
};

awaitable<void> listener::accepting::run(std::shared_ptr<accepting> self, binding& at) {
    constexpr auto back_off = 100ms;
    constexpr auto silence = 1min; // while it goes on, with now and then a client between
    auto tell_after = std::chrono::steady_clock::time_point::min();
    asio::steady_timer pause(at.acceptor.get_executor());
    while (at.acceptor.is_open()) {
        client_socket client(at.acceptor.get_executor());
        error_code error;
        co_await at.acceptor.async_accept(client, error_into(error));
        if (!at.acceptor.is_open()) {
            break;
        }
        if (!error) {
            self->accepted(std::move(client));
            continue;
        }
        // Out of descriptors, most likely: connections that end will free some.
        const auto now = std::chrono::steady_clock::now();
        if (now >= tell_after) {
            log::warning("cannot accept connections on {}: {}", at.address, error.message());
        }
        tell_after = now + silence;
        pause.expires_after(back_off);
        co_await pause.async_wait(error_into(error));
    }
}

listener::listener(asio::io_context& context, on_client accepted)
    : context_(context), accepting_(std::make_shared<accepting>()) {
    accepting_->accepted = std::move(accepted);
}

listener::~listener() {
    close();
}

error_code
listener::listen(const std::vector<std::string>& hosts, std::uint16_t port, bool reuse_port) {
    // As llama-server has it: "::" takes IPv4 clients as well, unless there are other addresses.
    const auto paths = std::count_if(hosts.begin(), hosts.end(), is_socket_path);
    const bool only_v6 = hosts.size() - static_cast<std::size_t>(paths) > 1;
    auto& bindings = accepting_->bindings;
    std::set<asio::ip::address> seen; // one name may stand for an address that is listed as well

    const auto bind_tcp = [&](const tcp::endpoint& at) {
        error_code error;
        bindings.emplace_back(context_).open_tcp(at, reuse_port, only_v6, error);
        if (error) {
            bindings.pop_back();
        } else if (port == 0) {
            port = bindings.back().port();
        }
        return error;
    };
    const auto bind_name = [&](const std::string& name) {
        error_code error;
        tcp::resolver resolver(context_);
        const auto found =
            resolver.resolve(without_brackets(name), "", tcp::resolver::passive, error);
        if (error) {
            return error;
        }
        std::size_t bound = 0;
        for (const auto& entry : found) {
            const auto address = entry.endpoint().address();
            if (!seen.insert(address).second) {
                ++bound;
                continue;
            }
            const auto failed = bind_tcp(tcp::endpoint(address, port));
            if (failed && !is_absent(failed)) {
                return failed;
            }
            error = failed ? failed : error;
            bound += failed ? 0 : 1;
        }
        return bound > 0 ? error_code() : error;
    };

    for (const auto& host : hosts) {
        error_code error;
        if (is_socket_path(host)) {
            bindings.emplace_back(context_).open_path(host, error);
        } else {
            error = bind_name(host);
        }
        if (error) {
            close();
            bindings.clear();
            return error;
        }
    }
    for (auto& one : bindings) {
        asio::co_spawn(context_, accepting::run(accepting_, one), asio::detached);
    }
    return {};
}

std::vector<std::string> listener::addresses() const {
    std::vector<std::string> all;
    for (const auto& one : accepting_->bindings) {
        all.push_back(one.address);
    }
    return all;
}

void listener::close() {
    for (auto& one : accepting_->bindings) {
        one.close();
    }
}

} // namespace hibernate::proxy

#include "llama_hibernate/proxy/upstream_link.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

namespace hibernate::proxy {

namespace {

constexpr std::size_t buffer_size = std::size_t{32} * 1024;

/// Neither bytes nor an end nor an error has come. Looks at the socket itself: what the event loop
/// has not got round to yet is seen, too.
bool is_silent(upstream_socket& socket) {
    char byte = 0;
    const auto size = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

} // namespace

upstream_link::upstream_link(upstream_links& all)
    : socket(all.context_.get_executor()), received(buffer_size), all_(all), child_(all.child_) {
    received.reserve(buffer_size);
    ++all_.open_;
}

upstream_link::~upstream_link() {
    std::erase(all_.idle_, this);
    close();
}

void upstream_link::close() noexcept {
    boost::system::error_code ignored;
    socket.close(ignored);
    all_.open_ -= counted_ ? 1 : 0;
    counted_ = false;
}

upstream_links::upstream_links(boost::asio::io_context& context, std::size_t most)
    : context_(context), most_(most) {
    idle_.reserve(most);
}

std::unique_ptr<upstream_link> upstream_links::make() {
    if (open_ >= most_) {
        close_idle();
    }
    return std::make_unique<upstream_link>(*this);
}

bool upstream_links::keep(upstream_link& link, time_point now) {
    const bool may = open_ <= most_ && link.child_ == child_ && link.socket.is_open() &&
                     link.received.size() == 0;
    if (may) {
        link.idle_since_ = now;
        idle_.push_back(&link);
    }
    return may;
}

bool upstream_links::take(upstream_link& link, time_point now) {
    const bool waited = std::erase(idle_, &link) != 0;
    return waited && now - link.idle_since_ < longest_wait && is_silent(link.socket);
}

void upstream_links::close_idle() noexcept {
    for (auto* const link : idle_) {
        link->close();
    }
    idle_.clear();
}

void upstream_links::close_old(time_point now) noexcept {
    const auto is_young = [now](const upstream_link* link) {
        return now - link->idle_since_ < longest_wait;
    };
    const auto first_old = std::partition(idle_.begin(), idle_.end(), is_young);
    for (auto link = first_old; link != idle_.end(); ++link) {
        (*link)->close();
    }
    idle_.erase(first_old, idle_.end());
}

void upstream_links::forget_child() noexcept {
    ++child_;
    close_idle();
}

} // namespace hibernate::proxy

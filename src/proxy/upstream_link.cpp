#include "llama_hibernate/proxy/upstream_link.hpp"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace hibernate::proxy {

namespace {

constexpr std::size_t buffer_size = std::size_t{32} * 1024;

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
        // A pending read costs no call of the system's, which to wait or to look would.
        link.socket.async_read_some(
            boost::asio::buffer(&link.unasked_->byte, 1),
            [unasked = link.unasked_](const auto& error, std::size_t) {
                unasked->came = unasked->came || error != boost::asio::error::operation_aborted;
            });
    }
    return may;
}

bool upstream_links::take(upstream_link& link, time_point now) {
    const bool waited = std::erase(idle_, &link) != 0;
    boost::system::error_code ignored;
    link.socket.cancel(ignored); // the pending read
    return waited && now - link.idle_since_ < longest_wait && !link.unasked_->came;
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

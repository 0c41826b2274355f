#include "llama_hibernate/proxy/gate.hpp"

#include <list>
#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include "error_into.hpp"
#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

namespace asio = boost::asio;

namespace {

using hold_timer = asio::basic_waitable_timer<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    asio::io_context::executor_type>;

} // namespace

struct gate::waiters {
    std::list<hold_timer> holds; ///< one for each held request

    void release() {
        for (auto& hold : holds) {
            hold.cancel();
        }
    }
};

gate::gate(asio::io_context& context, std::chrono::milliseconds health_hold)
    : context_(context), health_hold_(health_hold), waiters_(std::make_shared<waiters>()) {}

gate::~gate() = default;

void gate::hold(std::string reason) {
    if (state_ != state::closed) {
        state_ = state::holding;
        reason_ = std::move(reason);
    }
}

void gate::open() {
    if (state_ != state::closed) {
        state_ = state::open;
        waiters_->release();
    }
}

void gate::close(std::string reason) {
    const bool first = state_ != state::closed;
    state_ = state::closed;
    reason_ = std::move(reason);
    waiters_->release();
    if (first && on_close_) {
        on_close_();
    }
}

awaitable<void> gate::wait_while_holding() {
    if (state_ != state::holding) {
        co_return;
    }
    const auto all = waiters_;
    const auto mine = all->holds.emplace(all->holds.end(), context_.get_executor(), health_hold_);
    const auto leave = [&all](auto* position) { all->holds.erase(*position); };
    const std::unique_ptr<const std::list<hold_timer>::iterator, decltype(leave)> registration(
        &mine, leave);

    boost::system::error_code ended;
    co_await mine->async_wait(error_into(ended));
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
}

} // namespace hibernate::proxy

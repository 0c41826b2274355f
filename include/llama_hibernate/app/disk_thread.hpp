#pragma once
// Where blocking work on files happens: one thread, so that the store needs no locks and nobody on
// the network waits for a disk.

#include <functional>
#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hibernate::app {

class disk_thread {
public:
    explicit disk_thread(boost::asio::io_context& network) : network_(network), pool_(1) {}

    /// Runs work() on the disk thread; completes on the caller's with what it returned. It cannot
    /// be cancelled: whatever work refers to stays in use until it has ended.
    template <typename Work>
    boost::asio::awaitable<std::invoke_result_t<Work&>> run(Work work) {
        auto task = perform(std::move(work));
        co_return co_await boost::asio::co_spawn(
            pool_, std::move(task), boost::asio::use_awaitable);
    }

    /// The same without waiting: done() is called on the network thread afterwards, unless that has
    /// stopped by then.
    void start(std::function<void()> work, std::function<void()> done) {
        boost::asio::post(pool_, [this, work = std::move(work), done = std::move(done)]() mutable {
            work();
            boost::asio::post(network_, std::move(done));
        });
    }

private:
    template <typename Work>
    static boost::asio::awaitable<std::invoke_result_t<Work&>> perform(Work work) {
        co_return work();
    }

    boost::asio::io_context& network_;
    boost::asio::thread_pool pool_;
};

} // namespace hibernate::app

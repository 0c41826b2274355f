#pragma once
// Where blocking work on files happens: one thread, so that what runs on it needs no locks, and
// nobody on the network waits for a disk.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"

namespace hibernate::app {

class disk_thread {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit disk_thread(boost::asio::io_context& network) : network_(network), pool_(1) {}

    /// Runs work() on the disk thread; completes on the caller's with what it returned. It cannot
    /// be cancelled: whatever work refers to stays in use until it has ended.
    template <typename Work>
    awaitable<std::invoke_result_t<Work&>> run(Work work) {
        auto working = run_until(time_point::max(), std::move(work));
        auto result = co_await std::move(working);
        co_return std::move(*result);
    }

    /// The same, but completes with nothing at the deadline; the work goes on all the same.
    template <typename Work>
    awaitable<std::optional<std::invoke_result_t<Work&>>>
    run_until(time_point deadline, Work work) {
        struct outcome {
            std::optional<std::invoke_result_t<Work&>> result;
            std::exception_ptr failure;
        };
        const auto made = std::make_shared<outcome>(); // the disk thread's, until it is done
        const auto seen = std::make_shared<outcome>(); // ours
        const auto done = std::make_shared<boost::asio::steady_timer>(network_, deadline);
        const auto attempt = [made, work = std::move(work)]() mutable {
            try {
                made->result.emplace(work());
            } catch (...) {
                made->failure = std::current_exception();
            }
        };
        start(attempt, [made, seen, done] {
            *seen = std::move(*made);
            done->cancel();
        });
        boost::system::error_code ignored;
        co_await done->async_wait(boost::asio::redirect_error(use_awaitable, ignored));
        if (seen->failure) {
            std::rethrow_exception(seen->failure);
        }
        co_return std::move(seen->result);
    }

    /// The same without waiting: done() is called on the network thread afterwards, unless that has
    /// stopped by then.
    void start(std::function<void()> work, std::function<void()> done) {
        ++unfinished_;
        boost::asio::post(pool_, [this, work = std::move(work), done = std::move(done)]() mutable {
            try {
                work();
            } catch (const std::exception& failure) { // out of memory
                log::error("on the disk thread: {}", failure.what());
            }
            // Nothing is to be freed here once somebody was told: he may fork, and not every
            // allocator bears that (ASan's, of g++ 12).
            work = nullptr;
            --unfinished_;
            boost::asio::post(network_, std::move(done));
        });
    }

    /// Whether some work has not ended yet: then the destructor would wait for it.
    bool busy() const noexcept { return unfinished_ != 0; }

private:
    boost::asio::io_context& network_;
    std::atomic<int> unfinished_{0};
    boost::asio::thread_pool pool_;
};

} // namespace hibernate::app

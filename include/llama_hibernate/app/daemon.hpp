#pragma once
// The daemon: performs what the life cycle decides. Wiring only; the decisions are in keeper, the
// work is in keeping, the proxy and the child.

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "llama_hibernate/app/keeping.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/app/own_paths.hpp"
#include "llama_hibernate/app/request_hooks.hpp"
#include "llama_hibernate/app/server_process.hpp"
#include "llama_hibernate/app/service_notifier.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/keeper/lifecycle.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/process/stop_signals.hpp"
#include "llama_hibernate/proxy/gate.hpp"
#include "llama_hibernate/proxy/server.hpp"

namespace hibernate::app {

class daemon {
public:
    /// program is llama-server's path. Everything is copied. The store is kept on the disk given.
    daemon(
        options options,
        llama::server_args args,
        llama::environment_map environment,
        std::string program,
        std::unique_ptr<disk> disk = make_real_disk());
    ~daemon();

    /// Serves until it is stopped or the child dies; returns the status to exit with. Throws
    /// startup_error when the start cannot succeed. Call it once, on the main thread: the child
    /// dies with the thread that started it.
    int run();

private:
    using clock = std::chrono::steady_clock;

    // Start-up, in order.
    awaitable<void> start_up();
    awaitable<void> bind_listeners();

    // Events in, actions out.
    awaitable<void> watch_signals();
    void dispatch(const keeper::event& happened);
    void perform(keeper::action what);

    // One method for each action that takes time; each ends by an event.
    awaitable<void> live_child();
    bool launch_child();
    awaitable<void> watch_health(int life);
    awaitable<void> start_child_later();
    awaitable<void> restore(int life, keeping::extent what);
    awaitable<void> wait_for_death(int life);
    awaitable<void> drain();
    awaitable<void> save();
    awaitable<void> interrupt_child();
    awaitable<void> finish();

    admin::overview look() const;
    awaitable<void> end_open_streams(clock::time_point deadline);
    void spawn(awaitable<void> task);
    void leave();
    clock::time_point save_deadline() const;

    options options_;
    llama::server_args args_;
    llama::environment_map environment_;
    std::string program_;

    process::stop_signals stop_signals_; ///< before everything that starts a thread
    boost::asio::io_context context_{1}; // one thread runs it
    boost::asio::signal_set signals_;
    service_notifier notifier_;
    keeping keeping_;

    request_hooks hooks_;
    own_paths own_paths_;
    proxy::gate gate_;
    proxy::server server_;

    server_process child_;
    keeper::lifecycle lifecycle_;
    bool life_begun_ = false; ///< start-up is over
    int life_ = 0;            ///< which of the child's lives this is: late news of others is void
    std::shared_ptr<llama::client> client_;
    std::size_t answered_before_ = 0; ///< requests, when this life began to serve
    bool abandon_ = false;            ///< no further restore or save is started
    bool save_begun_ = false;         ///< the one at the stop

    clock::time_point started_;       ///< or when the child died that is started again
    store::wall_time started_at_;     ///< the same, for people
    store::wall_time state_since_;    ///< likewise, of the phase of the life cycle
    clock::time_point first_stop_;    ///< when the first stop signal came
    clock::time_point stop_deadline_; ///< when we must be gone
    std::exception_ptr failure_;
};

} // namespace hibernate::app

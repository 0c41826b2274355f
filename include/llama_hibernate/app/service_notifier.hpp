#pragma once
// Keeps a service manager informed, where there is one: sends what keeper::service_notices finds
// that it should hear, when something changes and when its time has come. The event loop's own
// timer does that, so a loop that hangs is a watchdog that is not fed.

#include <chrono>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "llama_hibernate/base/notify_socket.hpp"
#include "llama_hibernate/keeper/lifecycle.hpp"
#include "llama_hibernate/keeper/service_notices.hpp"
#include "llama_hibernate/llama/server_args.hpp"

namespace hibernate::app {

class service_notifier {
public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. The life begins by loading.
    service_notifier(boost::asio::io_context& context, const llama::environment_map& environment);

    /// The phase may have changed.
    void enter(const keeper::lifecycle& life, std::chrono::steady_clock::time_point stop_deadline);

    /// What service_condition::detail is from now on, until another phase is entered.
    void detail(std::string text);

    /// The same, for the phase that is entered next.
    void detail_of_next_phase(std::string text) { next_detail_ = std::move(text); }

private:
    void tell();

    notify_socket socket_;
    keeper::service_notices notices_;
    keeper::service_condition condition_;
    std::string next_detail_;
    std::chrono::steady_clock::time_point stop_deadline_;
    boost::asio::steady_timer again_;
};

} // namespace hibernate::app

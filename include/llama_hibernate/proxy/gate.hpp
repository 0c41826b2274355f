#pragma once
// The gate between clients and the child: it holds until every slot is restored, then it is open,
// and from the first stop signal on it is closed.
//
// While it holds, every path answers 503 in llama-server's own shape. llama-swap probes /health and
// sleeps a second after each answer that is not 200, so a /health request alone may wait here for a
// bounded time: it passes at the moment the gate opens, or gets the 503 when its hold is over.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

class gate {
public:
    enum class state {
        holding, ///< 503 with reason(); a /health request is held
        open,    ///< requests go to the child
        closed,  ///< 503 with reason() and Connection: close; nothing is held
    };

    gate(boost::asio::io_context& context, std::chrono::milliseconds health_hold);
    ~gate();
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    void hold(std::string reason);  ///< back to holding, or another reason while holding
    void open();                    ///< releases every held request
    void close(std::string reason); ///< releases every held request with a 503; final

    state current() const noexcept { return state_; }
    const std::string& reason() const noexcept { return reason_; } ///< such as "restoring 2 of 5"

    /// Completes as soon as the gate is not holding, or after the health hold; cancellable.
    awaitable<void> wait_while_holding();

    /// Called once, when the gate closes; one observer, null for none.
    void on_close(std::function<void()> observer) { on_close_ = std::move(observer); }

private:
    struct waiters;

    state state_ = state::holding;
    std::string reason_ = "Loading model"; // llama-server's own words
    boost::asio::io_context& context_;
    std::chrono::milliseconds health_hold_;
    std::function<void()> on_close_;
    std::shared_ptr<waiters> waiters_; // shared: a suspended waiter may be destroyed after the gate
};

} // namespace hibernate::proxy

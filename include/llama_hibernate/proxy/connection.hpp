#pragma once
// One client connection: its requests, one after the other, until one side wants no more.

#include <cstdint>
#include <memory>
#include <optional>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/proxy/answer.hpp"
#include "llama_hibernate/proxy/exchange.hpp"
#include "llama_hibernate/proxy/head.hpp"
#include "llama_hibernate/proxy/session.hpp"

namespace hibernate::proxy {

/// Registers itself with the shared state for as long as it lives.
class connection {
public:
    /// A surplus connection gets a 503 for its first request, and is closed.
    connection(std::shared_ptr<shared_state> shared, client_socket socket, bool surplus);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Once; completes when the connection is closed. Never throws for what a client does.
    awaitable<void> run();

    void cut();                          ///< closes both sides; an exchange ends as `cut`
    void close_if_idle();                ///< closes it if it waits for a further request
    void close_if_late(steady_time now); ///< closes it if its deadline is over
    bool watch_client();                 ///< as exchange::watch_client, of the one in progress

private:
    /// What becomes of the connection after a request.
    enum class after { keep, finish, close, reset };
    enum class head_end { ready, gone, too_large, target_too_long, malformed };

    awaitable<head_end> read_head();
    awaitable<after> serve_request();
    awaitable<after> serve(const request_head& request);
    awaitable<after> forward(const request_head& request, request_view& view);
    awaitable<bool> held_client_stayed();

    /// Sends an answer of our own to a request whose body was not read.
    awaitable<after> refuse(const answer& what, const request_head& request);
    /// unread_body: what of the request still comes and is thrown away to keep the connection.
    awaitable<after> respond(const answer& what, answer_form form, std::uint64_t unread_body);
    awaitable<void> finish();

    bool is_health(const request_head& request, std::string_view path) const;
    void set_deadline(std::chrono::milliseconds from_now);

    std::shared_ptr<shared_state> shared_;
    client_side client_;
    const bool surplus_;
    bool idle_ = false;   ///< waits for the first byte of a request
    bool served_ = false; ///< had a request; a client that just connected may be sending its first
    bool cut_ = false;
    std::size_t head_size_ = 0;
    exchange* exchange_ = nullptr;        ///< the one in progress
    std::unique_ptr<upstream_link> kept_; ///< for the next one, while it waits
};

} // namespace hibernate::proxy

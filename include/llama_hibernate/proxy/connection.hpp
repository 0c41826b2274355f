#pragma once
// One client connection: its requests, one after the other, until one side wants no more.

#include <cstdint>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

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
    boost::asio::awaitable<void> run();

    void cut();                          ///< closes both sides; an exchange ends as `cut`
    void close_if_idle();                ///< closes it if nothing is under way that has an end
    void close_if_late(steady_time now); ///< closes it if its deadline is over

private:
    /// What becomes of the connection after a request.
    enum class after { keep, finish, close, reset };
    enum class head_end { ready, gone, too_large, target_too_long, malformed };

    boost::asio::awaitable<head_end> read_head();
    boost::asio::awaitable<after> serve_request();
    boost::asio::awaitable<after> serve(const request_head& request);
    boost::asio::awaitable<after>
    let_owner_answer(const request_head& request, const request_view& view);
    boost::asio::awaitable<after> send_stream(own_answer answer, answer_form form);
    boost::asio::awaitable<after> forward(const request_head& request, request_view& view);
    boost::asio::awaitable<bool> held_client_stayed();

    /// Sends an answer of our own to a request whose body was not read.
    boost::asio::awaitable<after> refuse(const answer& what, const request_head& request);
    /// unread_body: what of the request still comes and is thrown away to keep the connection.
    answer_form form_for(const request_head& request) const;
    boost::asio::awaitable<after>
    respond(std::string text, bool keep_alive, std::uint64_t unread_body);
    boost::asio::awaitable<void> finish();

    bool is_health(const request_head& request, std::string_view path) const;
    void set_deadline(std::chrono::milliseconds from_now);

    std::shared_ptr<shared_state> shared_;
    client_side client_;
    const bool surplus_;
    bool idle_ = false; ///< waits for the first byte of a request, or sends a stream of the owner's
    bool served_ = false; ///< had a request; a client that just connected may be sending its first
    bool cut_ = false;
    std::size_t head_size_ = 0;
    exchange* exchange_ = nullptr; ///< the one in progress
};

} // namespace hibernate::proxy

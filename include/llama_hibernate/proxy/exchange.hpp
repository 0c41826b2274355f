#pragma once
// One request forwarded to the child, and its response relayed.
//
// Each exchange has an upstream connection of its own. llama-server spends a thread on every
// connection that is kept for later, and closes it after five seconds, when a POST may be on its
// way that must not be sent twice. A new connection over loopback costs some tens of microseconds,
// next to a completion's milliseconds at least. So there is no stale connection to fail on, and
// nothing is ever sent again.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "llama_hibernate/proxy/answer.hpp"
#include "llama_hibernate/proxy/framing.hpp"
#include "llama_hibernate/proxy/head.hpp"
#include "llama_hibernate/proxy/hooks.hpp"
#include "llama_hibernate/proxy/session.hpp"

namespace hibernate::proxy {

class exchange {
public:
    /// How the client's connection goes on.
    enum class next {
        keep,   ///< it may send another request
        finish, ///< say that no more comes, and close when the client has read it
        close,  ///< at once: the client has gone, or must see that the response broke off
        reset,  ///< at once and with an error: a FIN would look like the end of the response
        answer, ///< nothing was sent to the client yet: give it local_answer()
    };

    /// Everything outlives the exchange.
    exchange(
        shared_state& shared, client_side& client, const request_head& request, request_view& view);
    ~exchange();
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    boost::asio::awaitable<next> run();

    /// Whether the request's body was read to its end (else the client still sends it).
    bool request_complete() const noexcept { return request_body_.done(); }
    const answer& local_answer() const noexcept { return local_answer_; }

    /// Closes the upstream connection and ends the exchange as `cut`; the caller closes the client.
    void cut();

private:
    enum class step {
        ok,
        client_gone,
        upstream_failed,
        out_of_descriptors,
        request_malformed,
        hook_failed
    };
    enum class response_end {
        complete,
        switched,       ///< 101: the connection is a tunnel now
        client_gone,    ///< a write to it failed
        no_response,    ///< the child broke off before a final head, or sent none we may relay
        broken,         ///< the child broke off after it
        broken_unframed ///< likewise, where only the end of the connection ends the body
    };

    bool owner_wants_body() const;
    boost::asio::awaitable<step> look_at_body();
    boost::asio::awaitable<bool> tell_to_go_on();
    boost::asio::awaitable<step> start();
    boost::asio::awaitable<step> open_upstream();
    boost::asio::awaitable<step> hear_client();
    boost::asio::awaitable<step> send_request_body();
    boost::asio::awaitable<response_end> relay_response();
    boost::asio::awaitable<std::optional<response_head>> read_response();
    boost::asio::awaitable<response_end>
    relay_response_body(const response_head& response, std::string head, const delivery& plan);
    boost::asio::awaitable<void>
    write_to_client(std::string_view head, std::string_view body, boost::system::error_code& error);

    void ask_for_observer(const response_head& response, const delivery& plan);
    void show_observer(std::string_view passed);

    next ended(outcome how, next then);
    next fail(unsigned status, const char* message, outcome how);
    next conclude(response_end end);

    shared_state& shared_;
    client_side& client_;
    const request_head& request_;
    request_view& view_;

    upstream_socket upstream_;
    boost::beast::flat_buffer from_upstream_;
    body_scanner request_body_;
    go_ahead go_ahead_ = go_ahead::from_child;
    std::string body_start_; ///< what view_ shows of the body, until before_forward completes
    std::unique_ptr<body_observer> observer_; ///< of the response's body, until after_response
    body_scanner observed_body_;              ///< finds the payload in what the client got
    answer local_answer_;
    bool owes_after_response_ = false; ///< before_forward was called, after_response not yet
    bool cut_ = false;
    bool response_keeps_ = false; ///< the head that the client got lets it send another request
    bool client_written_ = false; ///< bytes of a final response may have reached the client
};

} // namespace hibernate::proxy

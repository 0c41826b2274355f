#pragma once
// One request forwarded to the child, and its response relayed.
//
// A connection to the child is used for one request, unless that is a GET or HEAD without a body.
// Only those may find one that their client's last request left, because they may be sent again if
// the child closed it meanwhile: they are, once, on a new one, if not a byte of a response came. A
// POST has its own connection, so there is no stale one for it to fail on, and it is never sent
// twice.
//
// The client is watched while the child works, and what it does is heard aside from the relaying: a
// request whose body is still on its way from the start, any other as soon as it has lasted for
// some milliseconds.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/cancellation_signal.hpp>

#include "llama_hibernate/base/awaitable.hpp"
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

    /// Everything outlives the exchange. kept is the client's idle link to the child, if any, and
    /// what the exchange leaves there.
    exchange(
        shared_state& shared,
        client_side& client,
        const request_head& request,
        request_view& view,
        std::unique_ptr<upstream_link>& kept);
    ~exchange();
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    awaitable<next> run();

    /// Whether the request's body was read to its end (else the client still sends it).
    bool request_complete() const noexcept { return request_body_.done() && unsent_ == 0; }
    const answer& local_answer() const noexcept { return local_answer_; }

    /// Closes the upstream connection and ends the exchange as `cut`; the caller closes the client.
    void cut();

    /// To be called now and then: from the second time on the client is watched. Whether it is to
    /// be called again.
    bool watch_client();

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
    awaitable<step> look_at_body();
    awaitable<bool> tell_to_go_on();
    awaitable<step> ask_owner();
    awaitable<step> wait_for_owner(awaitable<void> waiting);
    step hook_failed(const std::exception& failure) const;
    awaitable<void> forward();
    awaitable<step> open_upstream();
    awaitable<step> open_new_upstream();
    awaitable<void> send_head(boost::system::error_code& error);
    bool may_be_sent_twice() const;
    bool may_send_again() const;

    void start_hearing();
    void heard(const std::exception_ptr& failure, step what);
    awaitable<void> stop_hearing();
    awaitable<step> hear_client();
    awaitable<step> send_request_body();
    awaitable<response_end> relay_response();
    awaitable<std::optional<response_head>> read_response();
    awaitable<response_end>
    relay_response_body(const response_head& response, std::string head, const delivery& plan);
    awaitable<void>
    write_to_client(std::string_view head, std::string_view body, boost::system::error_code& error);

    void ask_for_observer(const response_head& response, const delivery& plan);
    void show_observer(std::string_view passed);

    next ended(outcome how, next then);
    next fail(unsigned status, const char* message, outcome how);
    next conclude(response_end end);
    void keep_upstream();
    void close_upstream();

    shared_state& shared_;
    client_side& client_;
    const request_head& request_;
    request_view& view_;

    std::unique_ptr<upstream_link>& kept_;
    std::unique_ptr<upstream_link> upstream_;
    body_scanner request_body_;
    std::size_t unsent_ =
        0; ///< of what request_body_ has seen: still at the client's buffer's front
    go_ahead go_ahead_ = go_ahead::from_child;
    std::string body_start_; ///< what view_ shows of the body, until before_forward completes
    std::unique_ptr<body_observer> observer_; ///< of the response's body, until after_response
    body_scanner observed_body_;              ///< finds the payload in what the client got
    answer local_answer_;

    // How forward() ended.
    step opened_ = step::upstream_failed;
    response_end end_ = response_end::no_response;

    // Hearing the client meanwhile.
    enum class hearing { not_yet, soon, on, over };
    hearing hearing_ = hearing::not_yet;
    bool forwarding_ = false;
    std::optional<step> heard_; ///< what the client did that ended the forwarding
    boost::asio::cancellation_signal stop_hearing_;
    std::optional<steady_timer> hearing_over_; ///< never expires; cancelled when it is

    bool owes_after_response_ = false; ///< before_forward was called, after_response not yet
    bool cut_ = false;
    bool upstream_keeps_ = false; ///< the child lets its connection be used again
    bool response_keeps_ = false; ///< the head that the client got lets it send another request
    bool client_written_ = false; ///< bytes of a final response may have reached the client
};

} // namespace hibernate::proxy

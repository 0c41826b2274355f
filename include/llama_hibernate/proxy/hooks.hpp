#pragma once
// What the proxy asks of its owner. The proxy itself knows nothing of slots, models or stores.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate::proxy {

/// A request as its head tells it. Views into the connection's buffers: valid during the call (and,
/// for before_forward, until its awaitable completes).
struct request_view {
    std::string_view method;
    std::string_view target; ///< raw, as the client sent it
    std::string path; ///< as llama-server reads it: no query, percent-decoded, authority stripped
    std::string_view query; ///< raw, without '?'
    std::function<std::optional<std::string_view>(std::string_view name)> header; ///< first of it

    /// For refuse_body and before_forward alone, if wants_body() said so: the first bytes of the
    /// body, without their chunked coding. It is the whole body, or as much as the connection's
    /// buffer takes (server_settings::head_limit). Of a client that has half-closed its
    /// connection it is what has come, maybe nothing.
    std::string_view body_start;
};

/// The head of a final response. Valid during the call.
struct response_view {
    unsigned status = 0;
    std::function<std::optional<std::string_view>(std::string_view name)> header; ///< first of it
};

/// Looks at one response body while it passes. It can neither change nor hold back what the client
/// gets, but while it looks, nobody is served: a pass over the bytes is what it may take.
class body_observer {
public:
    virtual ~body_observer() = default;

    /// The next bytes of the body, without their chunked coding (but as Content-Encoding says),
    /// after they were written to the client. What the client did not take is not seen. Must not
    /// call the server.
    virtual void see(std::string_view payload) noexcept = 0;
};

struct refusal {
    unsigned status = 403;
    std::string message; ///< goes into llama-server's error shape
    std::string type = "permission_error";
};

/// How an exchange ended, seen from the client.
enum class outcome {
    complete,        ///< the response was relayed to its end
    client_gone,     ///< the client left first
    upstream_failed, ///< the child could not be reached, or broke off
    cut,             ///< we closed it (drain time over)
};

class hooks {
public:
    virtual ~hooks() = default;

    /// Asked of every request whose head is valid and that the gate lets through; a refusal is
    /// answered by the proxy, and the child never sees the request.
    virtual std::optional<refusal> refuse(const request_view&) { return std::nullopt; }

    /// Asked of every request with a body that goes to the child: whether refuse_body and
    /// before_forward are to see the start of it. The request then waits until that has come, for
    /// as long as a client may stop in the middle of a body (server_settings::idle_timeout); a
    /// client that waits for "100 Continue" gets it for that. If the body never comes, because the
    /// client leaves or the chunks are malformed, the request ends here: there is no
    /// before_forward.
    virtual bool wants_body(const request_view&) { return false; }

    /// Asked after wants_body() said yes, as soon as body_start is there, and before
    /// before_forward: a refusal is answered as one of refuse() is.
    virtual std::optional<refusal> refuse_body(const request_view&) { return std::nullopt; }

    /// Awaited before the head goes to the child; it may take its time. Cancelled (terminal) when
    /// the client leaves meanwhile; one that throws costs the client a 500. Where there is nothing
    /// to wait for, it may be an empty awaitable (not valid()), which costs nothing.
    virtual awaitable<void> before_forward(const request_view&) { return {}; }

    /// Asked of every final response that has a body, before its head goes to the client: who looks
    /// at the body. Null: nobody, at no cost. The observer is destroyed as soon as after_response
    /// of the same request has returned, so that its owner may still ask it there.
    virtual std::unique_ptr<body_observer>
    observe_response(const request_view&, const response_view&) {
        return nullptr;
    }

    /// Called exactly once for every before_forward, whatever happened. For a `cut` it is called
    /// within cut_connections(), or the server's destructor.
    virtual void after_response(const request_view&, outcome) {}
};

} // namespace hibernate::proxy

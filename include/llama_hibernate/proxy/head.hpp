#pragma once
// Request and response heads: read strictly, and written anew for the other side.
//
// Beast checks the grammar of a head. What it lets through although two readers could understand it
// differently (and what it lets through in some of its versions only) is refused here, because
// llama-server would see other requests than those we judged. Nothing here does I/O.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llama_hibernate/proxy/fields.hpp"
#include "llama_hibernate/proxy/framing.hpp"

namespace hibernate::proxy {

/// Finds the end of a head in bytes that arrive piece by piece. Bytes before the request line (the
/// empty lines that some clients send) are the caller's to skip.
class head_finder {
public:
    enum class verdict {
        incomplete,
        complete,  ///< end() tells where the head ends: past its empty line
        malformed, ///< no head can come of this: a bare LF, or a first byte that begins no token
    };
    /// Takes all bytes so far, each time; looks at each of them once.
    verdict look(std::string_view bytes);
    std::size_t end() const noexcept { return line_; }
    bool in_first_line() const noexcept { return line_ == 0; }

private:
    std::size_t line_ = 0; ///< where the current line begins
    std::size_t next_ = 0; ///< where to look for its end
};

/// Why a head is refused, and with which status.
struct bad_head {
    unsigned status = 400;
    std::string reason;
};

struct request_head {
    std::unique_ptr<char[]> text; ///< what the views below view
    std::string_view method;
    std::string_view target; ///< raw
    bool http_1_0 = false;
    field_list fields;
    framing body;
    bool keep_alive = false;       ///< the client wants the connection to stay
    bool expects_continue = false; ///< 100-continue, from a client that understands it
    std::string_view upgrade;      ///< the protocol to switch to; empty: none we would forward
};

/// raw is a whole head with its empty line. The one gate of what may reach the child.
std::variant<request_head, bad_head> read_request_head(std::string_view raw);

struct response_head {
    std::unique_ptr<char[]> text; ///< what the views below view
    unsigned status = 0;
    std::string_view reason;
    field_list fields;
    framing body;
    bool chunked = false; ///< its fields say so, even where no body follows (HEAD)
    std::optional<std::uint64_t> content_length; ///< likewise
    bool keeps_connection = false; ///< HTTP/1.1, and its sender does not say that it closes

    bool interim() const noexcept { return status < 200; }
    static constexpr unsigned switching_protocols = 101;
};

/// request_method decides whether a body follows. Nothing for what a gateway must not relay.
std::optional<response_head>
read_response_head(std::string_view raw, std::string_view request_method);

struct forwarded_for {
    std::string_view client_address; ///< empty for a client on a Unix socket
    bool tls = false;
};

/// Who tells a client that expects "100 Continue" to go on.
enum class go_ahead {
    from_child, ///< Expect passes, and the child's answer to it
    given,      ///< we did, or need not: the body is on its way, and the child sees no Expect
};

/// What the child is to do with the connection after its response.
enum class upstream_connection { close, keep };

/// The head for the child: hop-by-hop fields removed, X-Forwarded-For appended, X-Forwarded-Proto
/// added where it is missing, and "Connection: close" unless it is to be kept.
std::string head_for_upstream(
    const request_head& request,
    const forwarded_for& from,
    go_ahead expected = go_ahead::from_child,
    upstream_connection then = upstream_connection::close);

/// How a response reaches this client.
struct delivery {
    bool keep_alive = false; ///< the client may send another request afterwards
    bool unchunk = false;    ///< the client knows no chunks: the payload alone, then close
    bool http_1_0 = false;
};

/// may_keep: the client and we both would keep the connection.
delivery plan_delivery(const response_head& response, bool http_1_0, bool may_keep);

/// The head for the client: every value and duplicate as it came, but hop-by-hop fields.
std::string head_for_client(const response_head& response, const delivery& plan);

} // namespace hibernate::proxy

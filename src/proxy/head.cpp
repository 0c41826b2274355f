#include "llama_hibernate/proxy/head.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <boost/beast/http/error.hpp>

#include "field_lists.hpp"
#include "head_parser.hpp"

namespace hibernate::proxy {

namespace http = boost::beast::http;

namespace {

constexpr unsigned bad_request = 400;
constexpr unsigned expectation_failed = 417;
constexpr unsigned not_implemented = 501;
constexpr unsigned version_not_supported = 505;
constexpr unsigned version_1_0 = 10; // as Beast counts
constexpr unsigned version_1_1 = 11;

bool is_token_byte(char byte) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || others.find(byte) != std::string_view::npos;
}

constexpr std::size_t usual_fields = 16;

/// A head's own copy of its bytes, which its views are of.
std::string_view copy_into(std::unique_ptr<char[]>& text, std::string_view raw) {
    text = std::make_unique_for_overwrite<char[]>(raw.size());
    std::copy(raw.begin(), raw.end(), text.get());
    return {text.get(), raw.size()};
}

struct length_field {
    bool valid = true;
    std::optional<std::uint64_t> value; ///< empty: no such field
};

/// Repetitions of one value, as fields or as a list, count as one; anything else is invalid.
length_field content_length(const field_list& fields) {
    length_field length;
    fields.for_each("Content-Length", [&](std::string_view list) {
        bool any = false;
        for_each_item(list, [&](std::string_view item) {
            std::uint64_t value = 0;
            const auto* const begin = item.data();
            const auto* const end = begin + item.size();
            const auto [read_to, failure] = std::from_chars(begin, end, value);
            const bool agrees = !length.value || *length.value == value;
            length.valid = length.valid && failure == std::errc() && read_to == end && agrees;
            length.value = value;
            any = true;
        });
        length.valid = length.valid && any;
    });
    return length;
}

enum class coding { identity, chunked, unknown };

/// "chunked", once, is the only transfer coding that we frame by.
coding transfer_coding(const field_list& fields) {
    auto found = coding::identity;
    fields.for_each("Transfer-Encoding", [&](std::string_view value) {
        const bool only_chunked = found == coding::identity && same_name(value, "chunked");
        found = only_chunked ? coding::chunked : coding::unknown;
    });
    return found;
}

bool connection_lists(const field_list& fields, std::string_view token) {
    bool found = false;
    fields.for_each("Connection", [&](std::string_view list) {
        for_each_item(
            list, [&](std::string_view item) { found = found || same_name(item, token); });
    });
    return found;
}

/// A folded line reads as one field to us, and may read as two to somebody else.
bool has_folded_line(std::string_view raw) {
    return raw.find("\r\n ") != std::string_view::npos ||
           raw.find("\r\n\t") != std::string_view::npos;
}

/// The first line ends in a version, and in one that we do not speak.
bool tells_other_version(std::string_view raw) {
    constexpr std::string_view form = " HTTP/1.1";
    const auto line = raw.substr(0, raw.find('\r'));
    const auto version = line.substr(line.size() - std::min(line.size(), form.size()));
    const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
    return version.size() == form.size() && version.starts_with(" HTTP/") && is_digit(version[6]) &&
           version[7] == '.' && is_digit(version[8]) && version != " HTTP/1.0" && version != form;
}

std::optional<bad_head> judge_target(std::string_view method, std::string_view target) {
    if (method == "CONNECT") {
        return bad_head{not_implemented, "CONNECT is not supported"};
    }
    const bool clean = std::none_of(target.begin(), target.end(), [](char byte) {
        constexpr char last_control = 0x1f;
        constexpr char del = 0x7f;
        return (byte >= 0 && byte <= last_control) || byte == ' ' || byte == del || byte == '#';
    });
    const bool absolute =
        same_name(target.substr(0, 7), "http://") || same_name(target.substr(0, 8), "https://");
    const bool known_form =
        target.starts_with('/') || absolute || (target == "*" && method == "OPTIONS");
    if (!clean || !known_form) {
        return bad_head{bad_request, "Invalid request target"};
    }
    return std::nullopt;
}

std::optional<bad_head> judge_host(const field_list& fields, bool http_1_0) {
    const auto hosts = fields.count("Host");
    if (hosts > 1 || (hosts == 0 && !http_1_0)) {
        return bad_head{bad_request, "A request needs exactly one Host"};
    }
    if (hosts == 1) {
        const auto host = *fields.first("Host");
        if (host.find_first_of(" \t,/\\@?#") != std::string_view::npos) {
            return bad_head{bad_request, "Invalid Host"};
        }
    }
    return std::nullopt;
}

/// Sets the framing of a request's body.
std::optional<bad_head> judge_framing(request_head& request) {
    const auto length = content_length(request.fields);
    const auto transfer = transfer_coding(request.fields);
    if (!length.valid) {
        return bad_head{bad_request, "Invalid Content-Length"};
    }
    if (transfer == coding::unknown) {
        return bad_head{not_implemented, "Unsupported Transfer-Encoding"};
    }
    if (transfer == coding::chunked) {
        if (length.value) {
            return bad_head{bad_request, "Both Content-Length and Transfer-Encoding"};
        }
        if (request.http_1_0) {
            return bad_head{bad_request, "Transfer-Encoding in an HTTP/1.0 request"};
        }
        request.body.how = framing::kind::chunked;
    } else if (length.value) {
        request.body = {framing::kind::length, *length.value};
    }
    return std::nullopt;
}

std::optional<bad_head> judge_expectation(request_head& request) {
    if (request.http_1_0) {
        return std::nullopt;
    }
    bool known = true;
    request.fields.for_each("Expect", [&](std::string_view value) {
        known = known && same_name(value, "100-continue");
        request.expects_continue = true;
    });
    if (!known) {
        return bad_head{expectation_failed, "Unknown expectation"};
    }
    return std::nullopt;
}

/// The protocol to offer to the child. An offer may always be ignored: it is, with a body (where
/// the switch would begin is unclear), and for h2c (a tunnel that hides further requests from us).
std::string_view upgrade_offer(const request_head& request) {
    const auto upgrade = request.fields.first("Upgrade");
    const bool has_body = request.body.how == framing::kind::chunked || request.body.length > 0;
    if (!upgrade || has_body || request.http_1_0 || !connection_lists(request.fields, "upgrade")) {
        return {};
    }
    bool offers_h2c = false;
    for_each_item(*upgrade, [&](std::string_view protocol) {
        offers_h2c = offers_h2c || same_name(protocol, "h2c");
    });
    return offers_h2c ? std::string_view() : *upgrade;
}

} // namespace

head_finder::verdict head_finder::look(std::string_view bytes) {
    if (!bytes.empty() && !is_token_byte(bytes.front())) {
        return verdict::malformed;
    }
    for (;;) {
        const auto line_feed = bytes.find('\n', next_);
        if (line_feed == std::string_view::npos) {
            next_ = bytes.size();
            return verdict::incomplete;
        }
        if (line_feed == 0 || bytes[line_feed - 1] != '\r') {
            return verdict::malformed;
        }
        const bool empty_line = line_feed - line_ == 1;
        line_ = line_feed + 1;
        next_ = line_;
        if (empty_line) {
            return verdict::complete;
        }
    }
}

std::variant<request_head, bad_head> read_request_head(std::string_view raw) {
    if (has_folded_line(raw)) {
        return bad_head{bad_request, "Folded header line"};
    }
    request_head request;
    request.fields.reserve(usual_fields);
    head_parser<true> parsed(request.fields);
    if (const auto error = parsed.parse(copy_into(request.text, raw))) {
        return error == http::error::bad_version && tells_other_version(raw)
                   ? bad_head{version_not_supported, "HTTP version not supported"}
                   : bad_head{bad_request, "Invalid request head: " + error.message()};
    }
    request.method = parsed.method;
    request.target = parsed.target;
    request.http_1_0 = parsed.version == version_1_0;

    auto refused = judge_target(request.method, request.target);
    if (!refused) {
        refused = judge_host(request.fields, request.http_1_0);
    }
    if (!refused) {
        refused = judge_framing(request);
    }
    if (!refused) {
        refused = judge_expectation(request);
    }
    if (refused) {
        return *std::move(refused);
    }
    request.keep_alive = request.http_1_0 ? connection_lists(request.fields, "keep-alive")
                                          : !connection_lists(request.fields, "close");
    request.upgrade = upgrade_offer(request);
    return request;
}

std::optional<response_head>
read_response_head(std::string_view raw, std::string_view request_method) {
    response_head response;
    response.fields.reserve(usual_fields);
    head_parser<false> parsed(response.fields);
    if (has_folded_line(raw) || parsed.parse(copy_into(response.text, raw))) {
        return std::nullopt;
    }
    constexpr unsigned lowest_status = 100; // the parser takes "020", which nobody else does
    if (parsed.status < lowest_status) {
        return std::nullopt;
    }
    response.status = parsed.status;
    response.reason = parsed.reason;

    const auto length = content_length(response.fields);
    const auto transfer = transfer_coding(response.fields);
    if (!length.valid || transfer == coding::unknown ||
        (transfer == coding::chunked && length.value)) {
        return std::nullopt;
    }
    response.content_length = length.value;
    response.chunked = transfer == coding::chunked;
    response.keeps_connection =
        parsed.version == version_1_1 && !connection_lists(response.fields, "close");

    constexpr unsigned no_content = 204;
    constexpr unsigned not_modified = 304;
    if (response.interim() || response.status == no_content || response.status == not_modified ||
        request_method == "HEAD") {
        response.body.how = framing::kind::none;
    } else if (response.chunked) {
        response.body.how = framing::kind::chunked;
    } else if (length.value) {
        response.body = {framing::kind::length, *length.value};
    } else {
        response.body.how = framing::kind::until_close;
    }
    return response;
}

} // namespace hibernate::proxy

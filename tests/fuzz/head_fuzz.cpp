// Request and response heads: what passes our gate passes it again in the form in which we send it
// on, with the same framing, so that the next reader sees the message that we judged.

#include <algorithm>
#include <variant>

#include "fuzz.hpp"
#include "llama_hibernate/proxy/head.hpp"

using namespace hibernate::proxy;
using hibernate::test::require;

namespace {

/// The head at the beginning of the bytes, with its empty line, found in pieces of that size.
std::string_view first_head(std::string_view bytes, std::size_t piece) {
    head_finder finder;
    for (std::size_t have = 0; have < bytes.size();) {
        have = std::min(have + piece, bytes.size());
        switch (finder.look(bytes.substr(0, have))) {
        case head_finder::verdict::incomplete:
            break;
        case head_finder::verdict::complete:
            require(finder.end() <= have);
            return bytes.substr(0, finder.end());
        case head_finder::verdict::malformed:
            return {};
        }
    }
    return {};
}

/// A request without a body may say so (Content-Length: 0) or not.
bool same_body(framing one, framing other) {
    for (auto* each : {&one, &other}) {
        if (each->how == framing::kind::length && each->length == 0) {
            each->how = framing::kind::none;
        }
    }
    return one.how == other.how && one.length == other.length;
}

/// How many fields of that name there are, as a reader that knows only lines and colons sees it.
/// Every line has to have the form that leaves no reader a choice.
std::size_t count_fields(std::string_view head, std::string_view name) {
    std::size_t count = 0;
    for (auto line_end = head.find("\r\n"); line_end + 2 < head.size() - 2;) {
        head.remove_prefix(line_end + 2);
        line_end = head.find("\r\n");
        const auto line = head.substr(0, line_end);
        const auto colon = line.find(':');
        require(colon != std::string_view::npos && colon > 0);
        require(line.substr(0, colon).find_first_of(" \t") == std::string_view::npos);
        require(line.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
        const auto same = [](char one, char other) { return (one | 0x20) == (other | 0x20); };
        count += colon == name.size() && std::equal(name.begin(), name.end(), line.begin(), same);
    }
    return count;
}

void check_forwarded(const request_head& request, go_ahead expected) {
    const auto forwarded = head_for_upstream(request, {"192.0.2.1", false}, expected);
    require(first_head(forwarded, forwarded.size()) == forwarded);
    const auto chunked = count_fields(forwarded, "transfer-encoding");
    require(count_fields(forwarded, "host") == 1);
    require(count_fields(forwarded, "connection") == 1);
    require(chunked == (request.body.how == framing::kind::chunked ? 1U : 0U));
    require(chunked + count_fields(forwarded, "content-length") <= 1);
    const auto expects = count_fields(forwarded, "expect");
    require(expects == 0 || (expected == go_ahead::from_child && request.expects_continue));

    const auto again = read_request_head(forwarded);
    const auto* same = std::get_if<request_head>(&again);
    require(same != nullptr);
    require(same->method == request.method && same->target == request.target);
    require(same_body(same->body, request.body));
}

void check_request(std::string_view head) {
    const auto read = read_request_head(head);
    const auto* request = std::get_if<request_head>(&read);
    if (request == nullptr) {
        require(std::get<bad_head>(read).status >= 400);
        return;
    }
    require(request->body.how != framing::kind::until_close);
    check_forwarded(*request, go_ahead::from_child);
    check_forwarded(*request, go_ahead::given);
}

void check_response(std::string_view head, std::string_view method) {
    const auto response = read_response_head(head, method);
    if (!response) {
        return;
    }
    const auto plan = plan_delivery(*response, false, true);
    const auto sent = head_for_client(*response, plan);
    const auto again = read_response_head(sent, method);
    require(again.has_value());
    require(again->status == response->status);
    require(same_body(again->body, response->body));
    const auto old_client = plan_delivery(*response, true, true);
    require(read_response_head(head_for_client(*response, old_client), method).has_value());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = hibernate::test::text_of(data, size);
    const auto head = first_head(bytes, std::max<std::size_t>(bytes.size(), 1));
    require(head == first_head(bytes, 1));
    if (!head.empty()) {
        check_request(head);
        check_response(head, "GET");
        check_response(head, "HEAD");
    }
    return 0;
}

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

void check_request(std::string_view head) {
    const auto read = read_request_head(head);
    const auto* request = std::get_if<request_head>(&read);
    if (request == nullptr) {
        require(std::get<bad_head>(read).status >= 400);
        return;
    }
    require(request->body.how != framing::kind::until_close);
    const auto forwarded = head_for_upstream(*request, {"192.0.2.1", false});
    require(first_head(forwarded, forwarded.size()) == forwarded);
    const auto again = read_request_head(forwarded);
    const auto* same = std::get_if<request_head>(&again);
    require(same != nullptr);
    require(same->method == request->method);
    require(same_body(same->body, request->body));
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

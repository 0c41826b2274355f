// How heads are written for the other side.

#include <algorithm>
#include <array>

#include <boost/beast/core/string.hpp>
#include <fmt/core.h>

#include "field_lists.hpp"
#include "llama_hibernate/proxy/head.hpp"

namespace hibernate::proxy {

namespace {

constexpr unsigned no_content = 204;
constexpr std::size_t usual_size = 1000; // of a head, in bytes

/// Fields that concern one connection, or that we write ourselves.
bool is_ours_to_write(std::string_view name) {
    constexpr std::array<std::string_view, 8> names = {
        "Connection", "Keep-Alive",        "Proxy-Connection", "Proxy-Authorization",
        "TE",         "Transfer-Encoding", "Upgrade",          "Content-Length"};
    for (const auto ours : names) {
        if (same_name(name, ours)) {
            return true;
        }
    }
    return false;
}

/// Fields that a Connection field cannot take away: a request without them would mean another one.
bool is_protected(std::string_view name) {
    constexpr std::array<std::string_view, 7> names = {
        "Host",   "Authorization",   "X-Api-Key",        "Content-Type",
        "Expect", "X-Forwarded-For", "X-Forwarded-Proto"};
    for (const auto kept : names) {
        if (same_name(name, kept)) {
            return true;
        }
    }
    return false;
}

bool sorts_before(std::string_view left, std::string_view right) {
    return boost::beast::iless()({left.data(), left.size()}, {right.data(), right.size()});
}

/// The names of all fields that concern one connection because its Connection field says so;
/// sorted, since a head takes thousands of names and thousands of fields to look up.
std::vector<std::string_view> named_by_connection(const field_list& fields) {
    std::vector<std::string_view> names;
    fields.for_each("Connection", [&](std::string_view list) {
        for_each_item(list, [&](std::string_view name) {
            if (!is_protected(name)) {
                names.push_back(name);
            }
        });
    });
    std::sort(names.begin(), names.end(), sorts_before);
    return names;
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
}

/// Every field that passes through, in its order, but those for which skip says yes.
template <typename Skip>
void append_passing_fields(std::string& head, const field_list& fields, Skip&& skip) {
    const auto named = named_by_connection(fields);
    for (const auto& [name, value] : fields) {
        const bool one_hop = std::binary_search(named.begin(), named.end(), name, sorts_before);
        if (!one_hop && !is_ours_to_write(name) && !skip(name)) {
            append_field(head, name, value);
        }
    }
}

std::string forwarded_for_value(const field_list& fields, std::string_view client_address) {
    std::string addresses;
    const auto append = [&](std::string_view address) {
        if (!address.empty()) {
            addresses.append(addresses.empty() ? "" : ", ").append(address);
        }
    };
    fields.for_each("X-Forwarded-For", append);
    append(client_address);
    return addresses;
}

/// A missing body means length 0 here, but some servers read such a request to its end.
bool needs_explicit_length(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

} // namespace

std::string head_for_upstream(
    const request_head& request,
    const forwarded_for& from,
    go_ahead expected,
    upstream_connection then) {
    const bool passes_expect = !request.http_1_0 && expected == go_ahead::from_child;
    std::string head;
    head.reserve(usual_size);
    head.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
    if (request.fields.count("Host") == 0) {
        append_field(head, "Host", "localhost");
    }
    append_passing_fields(head, request.fields, [&](std::string_view name) {
        return same_name(name, "X-Forwarded-For") || (!passes_expect && same_name(name, "Expect"));
    });
    const auto addresses = forwarded_for_value(request.fields, from.client_address);
    if (!addresses.empty()) {
        append_field(head, "X-Forwarded-For", addresses);
    }
    if (request.fields.count("X-Forwarded-Proto") == 0) {
        append_field(head, "X-Forwarded-Proto", from.tls ? "https" : "http");
    }
    if (request.body.how == framing::kind::chunked) {
        append_field(head, "Transfer-Encoding", "chunked");
    } else if (request.body.how == framing::kind::length || needs_explicit_length(request.method)) {
        append_field(head, "Content-Length", fmt::format("{}", request.body.length));
    }
    if (!request.upgrade.empty()) {
        append_field(head, "Connection", "Upgrade");
        append_field(head, "Upgrade", request.upgrade);
    } else if (then == upstream_connection::close) {
        append_field(head, "Connection", "close");
    }
    return head.append("\r\n");
}

delivery plan_delivery(const response_head& response, bool http_1_0, bool may_keep) {
    delivery plan;
    plan.http_1_0 = http_1_0;
    plan.unchunk = http_1_0 && response.body.how == framing::kind::chunked;
    plan.keep_alive = may_keep && !plan.unchunk && response.body.how != framing::kind::until_close;
    return plan;
}

std::string head_for_client(const response_head& response, const delivery& plan) {
    std::string head;
    head.reserve(usual_size);
    head.append(fmt::format("HTTP/1.1 {} {}\r\n", response.status, response.reason));
    append_passing_fields(head, response.fields, [](std::string_view) { return false; });
    const bool may_tell_length = !response.interim() && response.status != no_content;
    if (may_tell_length && response.chunked && !plan.http_1_0) {
        append_field(head, "Transfer-Encoding", "chunked");
    } else if (may_tell_length && response.content_length) {
        append_field(head, "Content-Length", fmt::format("{}", *response.content_length));
    }
    if (response.status == response_head::switching_protocols) {
        append_field(head, "Connection", "Upgrade");
        if (const auto protocol = response.fields.first("Upgrade")) {
            append_field(head, "Upgrade", *protocol);
        }
    } else if (!response.interim()) {
        if (!plan.keep_alive) {
            append_field(head, "Connection", "close");
        } else if (plan.http_1_0) {
            append_field(head, "Connection", "keep-alive");
        }
    }
    return head.append("\r\n");
}

} // namespace hibernate::proxy

#include "llama_hibernate/proxy/answer.hpp"

#include <boost/beast/http/status.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace hibernate::proxy {

std::string render(const answer& what, const answer_form& form) {
    const nlohmann::json shape = {
        {"error", {{"code", what.status}, {"message", what.message}, {"type", what.type}}}};
    const auto body = shape.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);

    constexpr unsigned service_unavailable = 503;
    const auto reason =
        boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(what.status));
    std::string response = fmt::format(
        "HTTP/1.1 {} {}\r\n"
        "Content-Type: application/json; charset=utf-8\r\n"
        "Content-Length: {}\r\n",
        what.status, std::string_view(reason.data(), reason.size()), body.size());
    if (what.status == service_unavailable) {
        response += "Retry-After: 1\r\n";
    }
    if (!form.keep_alive) {
        response += "Connection: close\r\n";
    } else if (form.http_1_0) {
        response += "Connection: keep-alive\r\n";
    }
    response += "\r\n";
    if (!form.head_only) {
        response += body;
    }
    return response;
}

} // namespace hibernate::proxy

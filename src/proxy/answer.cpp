#include "llama_hibernate/proxy/answer.hpp"

#include <boost/beast/http/status.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace hibernate::proxy {

own_answer refused(const answer& what) {
    const nlohmann::json shape = {
        {"error", {{"code", what.status}, {"message", what.message}, {"type", what.type}}}};
    own_answer whole;
    whole.status = what.status;
    whole.fields = {{"Content-Type", "application/json; charset=utf-8"}};
    constexpr unsigned service_unavailable = 503;
    if (what.status == service_unavailable) {
        whole.fields.emplace_back("Retry-After", "1");
    }
    whole.body = shape.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return whole;
}

std::string render(const answer& what, const answer_form& form) {
    return render(refused(what), form);
}

std::string render(const own_answer& what, const answer_form& form) {
    const auto reason =
        boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(what.status));
    std::string response = fmt::format(
        "HTTP/1.1 {} {}\r\n", what.status, std::string_view(reason.data(), reason.size()));
    for (const auto& [name, value] : what.fields) {
        response += fmt::format("{}: {}\r\n", name, value);
    }
    if (!what.stream) {
        response += fmt::format("Content-Length: {}\r\n", what.body.size());
    }
    if (!form.keep_alive) {
        response += "Connection: close\r\n";
    } else if (form.http_1_0) {
        response += "Connection: keep-alive\r\n";
    }
    response += "\r\n";
    if (!form.head_only) {
        response += what.body;
    }
    return response;
}

} // namespace hibernate::proxy

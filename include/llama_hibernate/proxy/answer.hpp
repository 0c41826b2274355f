#pragma once
// Answers that the proxy gives by itself, in llama-server's error shape.

#include <string>

namespace hibernate::proxy {

struct answer {
    unsigned status = 503;
    std::string message;
    std::string type = "unavailable_error";
};

struct answer_form {
    bool head_only = false; ///< the request was a HEAD
    bool keep_alive = false;
    bool http_1_0 = false;
};

/// The whole response: {"error":{"code":...,"message":...,"type":...}}, with Retry-After for a 503.
std::string render(const answer& what, const answer_form& form);

} // namespace hibernate::proxy

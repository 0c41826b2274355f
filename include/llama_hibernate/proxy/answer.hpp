#pragma once
// Answers that do not come from the child: the proxy's, in llama-server's error shape, and its
// owner's.

#include <string>

#include "llama_hibernate/proxy/hooks.hpp"

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

/// The same as an own_answer, for an owner that has to refuse something.
own_answer refused(const answer& what);

/// The whole response, or the head of one with a stream.
std::string render(const own_answer& what, const answer_form& form);

} // namespace hibernate::proxy

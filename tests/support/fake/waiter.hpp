#pragma once
// A task of the scripted llama-server that waits for its slot.

#include <cstddef>
#include <optional>
#include <string>

#include "server.hpp"

namespace fake {

struct server::waiter {
    enum class kind { completion, action };
    kind what = kind::completion;
    std::optional<std::size_t> pinned; ///< always set for an action
    const token_list* prompt = nullptr;
    bool reuse = true;

    bool granted = false;
    std::size_t slot = 0;
    std::size_t reused = 0;
};

/// The prompt of a chat, and the body of /tokenize's answer; both throw for a bad body.
std::string apply_template(const std::string& chat_body);
std::string tokenize(const std::string& body);

} // namespace fake

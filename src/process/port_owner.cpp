#include "llama_hibernate/process/port_owner.hpp"

#include <algorithm>

#include "platform.hpp"

namespace hibernate::process {

namespace {

port_owner look_once(std::uint16_t port, int child) {
    auto sockets = platform::listeners_on_loopback(port);
    if (!sockets) {
        return port_owner::unknown;
    }
    if (sockets->empty()) {
        return port_owner::nobody;
    }
    // A connection goes to the socket whose address is the more exact.
    const bool exact =
        std::any_of(sockets->begin(), sockets->end(), [](const auto& one) { return one.exact; });
    std::erase_if(*sockets, [exact](const auto& one) { return one.exact != exact; });
    const bool ours = std::all_of(sockets->begin(), sockets->end(), [child](const auto& one) {
        return platform::family_has_socket(child, one);
    });
    return ours ? port_owner::child : port_owner::stranger;
}

} // namespace

port_owner who_listens(std::uint16_t port, int child) {
    const auto seen = look_once(port, child);
    // A socket may have been handed on, or closed, while we looked for its owner.
    return seen == port_owner::stranger ? look_once(port, child) : seen;
}

} // namespace hibernate::process

// Whether one request continues another: what a body shows of its conversation is the same however
// much of it is there, and no conversation is continued by what differs within it.

#include <algorithm>
#include <string_view>

#include "fuzz.hpp"
#include "llama_hibernate/keeper/request_lineage.hpp"

using hibernate::keeper::continues_request;
using hibernate::keeper::conversation_extent;
using hibernate::test::require;

namespace {

void check_one(std::string_view body) {
    const auto extent = conversation_extent(body);
    require(extent <= body.size());
    require(continues_request(body, body) == (extent != 0));
    if (extent == 0) {
        return;
    }
    // Cut off at its end, it is all there is.
    const auto conversation = body.substr(0, extent);
    require(conversation_extent(conversation) == extent);
    require(continues_request(conversation, body));
    require(continues_request(body, conversation));
    for (const auto at : {extent - 1, extent / 2}) {
        auto other = std::string(body);
        other[at] = static_cast<char>(other[at] ^ 1);
        require(!continues_request(body, other));
    }
}

void check_two(std::string_view last, std::string_view next) {
    const auto extent = conversation_extent(last);
    if (continues_request(last, next)) {
        require(extent != 0);
        require(next.substr(0, extent) == last.substr(0, std::min(extent, next.size())));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The first two bytes are where the one ends and the other begins.
    if (size < 2) {
        return 0;
    }
    const auto bytes = hibernate::test::text_of(data + 2, size - 2);
    const auto split = std::min<std::size_t>(data[0] + 256U * data[1], bytes.size());
    const auto last = std::string_view(bytes).substr(0, split);
    const auto next = std::string_view(bytes).substr(split);
    check_one(bytes);
    check_one(last);
    check_two(last, next);
    return 0;
}

#pragma once
// Whether one completion request goes on with the conversation of another: pure, over the first
// bytes of their bodies.
//
// Clients send the whole conversation anew with every turn, and what they send differs only from
// the end of the last turn on:
//
//     {"model":"m","messages":[{...},{...}],"stream":true}
//     {"model":"m","messages":[{...},{...},{...},{...}],"stream":true}
//
// So the one continues the other if it is the same, byte for byte, up to that end. Nothing is
// understood of the messages. A client that writes the same conversation differently (other
// parameters before it, a marker on its last message) is not recognised, and neither is the point
// at which two conversations part if it lies beyond the bytes that are looked at.

#include <cstddef>
#include <string_view>

namespace hibernate::keeper {

/// How much of a request a continuing one has in common with it: its first bytes, up to the end of
/// the last element of "messages" or "input" (chat, /v1/messages, /v1/responses) or "prompt"
/// (completions), or of the text of "prompt", "input" or "input_prefix" (/infill), before its
/// closing quote. Of several that are there the furthest counts. Only keys of the outermost object
/// count, and only where their value is an array or a string.
///
/// body_start is any bytes, and may be cut off anywhere: all of it, if it ends within such a value.
/// 0: there is none, or this is no JSON object.
std::size_t conversation_extent(std::string_view body_start);

/// Whether new_start has the extent of last_start in common with it, as far as both reach, and
/// reaches into the conversation at all. Never where that extent is 0.
bool continues_request(std::string_view last_start, std::string_view new_start);

} // namespace hibernate::keeper

#pragma once
// Our own calls to llama-server: a few small JSON requests, one connection each.
//
// A call never throws for what the child does; it completes with a call_failure instead. Each has a
// deadline after which it is abandoned (a slot action that llama-server had deferred is done all
// the same, later). Only one slot action may be in flight at a time: llama-server can lose the
// wake-up of a second one.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::llama {

/// An answer, or why there is none.
template <typename T>
class call_result {
public:
    call_result(T answer) : value_(std::move(answer)) {}
    call_result(call_failure failure) : value_(std::move(failure)) {}

    explicit operator bool() const noexcept { return std::holds_alternative<T>(value_); }
    T& operator*() { return std::get<T>(value_); }
    const T& operator*() const { return std::get<T>(value_); }
    T* operator->() { return &std::get<T>(value_); }
    const T* operator->() const { return &std::get<T>(value_); }
    const call_failure& failure() const { return std::get<call_failure>(value_); }

private:
    std::variant<T, call_failure> value_;
};

struct nothing {}; ///< the answer of a call whose success says all

class client {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// server is where it listens, on TCP or a Unix socket. api_key may be empty; api_prefix is ""
    /// or "/foo".
    client(
        boost::asio::io_context& context,
        boost::asio::generic::stream_protocol::endpoint server,
        std::string api_key,
        std::string api_prefix);

    /// GET /health: succeeds when it says 200.
    awaitable<call_result<nothing>> health(time_point deadline);
    awaitable<call_result<properties>> props(time_point deadline);

    /// GET /slots. It wakes a sleeping server, keeps it awake, and when polled breaks its watch for
    /// clients that have gone: once after an event, never in a loop. 501 with --no-slots.
    awaitable<call_result<std::vector<slot>>> slots(time_point deadline);

    /// slot must be below properties::total_slots: llama-server wraps ids around, with a 200.
    awaitable<call_result<saved>> save_slot(int slot, std::string file_name, time_point deadline);
    /// A refused restore leaves the slot empty.
    awaitable<call_result<restored>>
    restore_slot(int slot, std::string file_name, time_point deadline);

    /// Empties it.
    awaitable<call_result<nothing>> erase_slot(int slot, time_point deadline);

    /// A task that computes one token and generates none, on this slot, which should hold nothing
    /// of value: where idle slots are emptied, what the others hold moves to the RAM cache. Without
    /// a slot llama-server chooses: of a single one, what that holds moves there.
    awaitable<call_result<nothing>> push_into_cache(std::optional<int> slot, time_point deadline);

    /// Succeeds when the child computes one token in the slot, which should be empty and holds one
    /// token afterwards.
    awaitable<call_result<nothing>> generate_token(int slot, time_point deadline);

    /// Brings the slot to exactly these tokens, which it should hold more of, and generates none;
    /// tells how many had to be computed. Pinned to an empty slot all of them are.
    awaitable<call_result<std::uint64_t>>
    cut_slot(int slot, std::vector<token> tokens, time_point deadline);

    /// What comes after this prompt, computed in this slot; without reuse nothing of what the slot
    /// holds counts. The slot holds the prompt afterwards.
    awaitable<call_result<next_token>>
    look_ahead(int slot, std::vector<token> prompt, bool reuse, time_point deadline);

    /// How many tokens the model knows, from GET /v1/models.
    awaitable<call_result<std::uint64_t>> vocabulary_size(time_point deadline);

    /// Ends a resumable stream, which otherwise outlives its client and holds up the server's end.
    awaitable<call_result<nothing>> delete_stream(std::string conversation_id, time_point deadline);

private:
    struct answer {
        unsigned status = 0;
        std::string body;
    };
    awaitable<call_result<answer>>
    call(std::string_view method, std::string target, std::string body, time_point deadline);
    awaitable<call_result<answer>>
    slot_action(int slot, std::string_view action, std::string_view file_name, time_point deadline);

    boost::asio::io_context& context_;
    boost::asio::generic::stream_protocol::endpoint server_;
    std::string api_key_;
    std::string api_prefix_;
};

/// Pure readers of the bodies above; a body that is not what it should be is a call_failure.
call_result<properties> read_properties(std::string_view body);
call_result<std::vector<slot>> read_slots(std::string_view body);
call_result<saved> read_saved(std::string_view body);
call_result<restored> read_restored(std::string_view body);
call_result<nothing> read_generated(std::string_view body);
call_result<std::uint64_t> read_computed(std::string_view body);
call_result<next_token> read_next_token(std::string_view body);
call_result<std::uint64_t> read_vocabulary_size(std::string_view body);
/// llama-server's own words in an error body, else the start of the body.
std::string read_error_message(std::string_view body);

} // namespace hibernate::llama

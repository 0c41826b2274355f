#include "llama_hibernate/llama/client.hpp"

#include "llama_hibernate/base/awaitable.hpp"
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

namespace hibernate::llama {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using stream = asio::generic::stream_protocol;
using boost::system::error_code;

namespace {

constexpr auto answer_limit_bytes = std::uint64_t{16} * 1024 * 1024;

using request = http::request<http::string_body>;
using response_parser = http::response_parser<http::string_body>;

/// One exchange on one connection. It must not throw: `exchange || timer` waits for the first to
/// succeed, and would sit out the whole deadline after a refused connection.
awaitable<error_code> exchange(
    stream::socket& socket,
    const stream::endpoint& server,
    const request& question,
    response_parser& parser) {
    error_code ec;
    co_await socket.async_connect(server, asio::redirect_error(use_awaitable, ec));
    if (ec) {
        co_return ec;
    }
    socket.set_option(asio::ip::tcp::no_delay(true), ec); // refused by a Unix socket
    co_await http::async_write(socket, question, asio::redirect_error(use_awaitable, ec));
    if (ec) {
        co_return ec;
    }
    boost::beast::flat_buffer buffer;
    co_await http::async_read(socket, buffer, parser, asio::redirect_error(use_awaitable, ec));
    co_return ec;
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view unreserved =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string result;
    for (const char letter : text) {
        if (unreserved.find(letter) != std::string_view::npos) {
            result += letter;
        } else {
            result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
        }
    }
    return result;
}

template <typename Answer, typename Reply>
call_result<Answer> read_with(call_result<Answer> (*read)(std::string_view), Reply& reply) {
    return reply ? read(reply->body) : call_result<Answer>(reply.failure());
}

} // namespace

client::client(
    asio::io_context& context, stream::endpoint server, std::string api_key, std::string api_prefix)
    : context_(context), server_(std::move(server)), api_key_(std::move(api_key)),
      api_prefix_(std::move(api_prefix)) {}

awaitable<call_result<client::answer>>
client::call(std::string_view method, std::string target, std::string body, time_point deadline) {
    using namespace asio::experimental::awaitable_operators;

    request question(http::string_to_verb(method), api_prefix_ + target, 11);
    question.set(http::field::host, "localhost");
    question.set(http::field::connection, "close");
    if (!api_key_.empty()) {
        question.set(http::field::authorization, "Bearer " + api_key_);
    }
    if (!body.empty()) {
        question.set(http::field::content_type, "application/json");
        question.body() = std::move(body);
    }
    question.prepare_payload();

    stream::socket socket(context_);
    response_parser parser;
    asio::steady_timer timer(context_, deadline);
    parser.body_limit(answer_limit_bytes);
    const auto first =
        co_await (exchange(socket, server_, question, parser) || timer.async_wait(use_awaitable));
    if (first.index() == 1 || std::get<0>(first)) {
        const auto why = first.index() == 1 ? "no answer in time" : std::get<0>(first).message();
        const call_failure failure{0, why};
        co_return call_result<answer>(failure);
    }
    auto& message = parser.get();
    if (message.result_int() < 200 || message.result_int() > 299) {
        const call_failure failure{message.result_int(), read_error_message(message.body())};
        co_return call_result<answer>(failure);
    }
    answer reply{message.result_int(), std::move(message.body())};
    co_return call_result<answer>(std::move(reply));
}

awaitable<call_result<nothing>> client::health(time_point deadline) {
    const auto reply = co_await call("GET", "/health", "", deadline);
    co_return reply ? call_result<nothing>(nothing{}) : call_result<nothing>(reply.failure());
}

awaitable<call_result<properties>> client::props(time_point deadline) {
    auto reply = co_await call("GET", "/props", "", deadline);
    co_return read_with(read_properties, reply);
}

awaitable<call_result<std::vector<slot>>> client::slots(time_point deadline) {
    auto reply = co_await call("GET", "/slots", "", deadline);
    co_return read_with(read_slots, reply);
}

awaitable<call_result<client::answer>> client::slot_action(
    int slot, std::string_view action, std::string_view file_name, time_point deadline) {
    auto target = fmt::format("/slots/{}?action={}", slot, action);
    // The names are ours (hex digits, "staging-", ".kv"): nothing in them needs an escape.
    auto body = fmt::format(R"({{"filename":"{}"}})", file_name);
    auto reply = co_await call("POST", std::move(target), std::move(body), deadline);
    co_return reply;
}

awaitable<call_result<saved>>
client::save_slot(int slot, std::string file_name, time_point deadline) {
    auto reply = co_await slot_action(slot, "save", file_name, deadline);
    co_return read_with(read_saved, reply);
}

awaitable<call_result<restored>>
client::restore_slot(int slot, std::string file_name, time_point deadline) {
    auto reply = co_await slot_action(slot, "restore", file_name, deadline);
    co_return read_with(read_restored, reply);
}

awaitable<call_result<nothing>> client::erase_slot(int slot, time_point deadline) {
    auto target = fmt::format("/slots/{}?action=erase", slot);
    const auto reply = co_await call("POST", std::move(target), "", deadline);
    co_return reply ? call_result<nothing>(nothing{}) : call_result<nothing>(reply.failure());
}

awaitable<call_result<nothing>> client::generate_token(int slot, time_point deadline) {
    // A token id, so that no tokenizer makes nothing, or many, of it; every vocabulary has this
    // one.
    auto body = fmt::format(
        R"({{"prompt":[40],"n_predict":1,"id_slot":{},"cache_prompt":false,"ignore_eos":true}})",
        slot);
    auto reply = co_await call("POST", "/completion", std::move(body), deadline);
    co_return read_with(read_generated, reply);
}

awaitable<call_result<nothing>>
client::push_into_cache(std::optional<int> slot, time_point deadline) {
    const auto pinned = slot ? fmt::format(R"(,"id_slot":{})", *slot) : std::string();
    auto body = fmt::format(R"({{"prompt":[40],"n_predict":0{}}})", pinned);
    const auto reply = co_await call("POST", "/completion", std::move(body), deadline);
    co_return reply ? call_result<nothing>(nothing{}) : call_result<nothing>(reply.failure());
}

awaitable<call_result<std::uint64_t>>
client::cut_slot(int slot, std::vector<token> tokens, time_point deadline) {
    auto body = fmt::format(
        R"({{"prompt":[{}],"n_predict":0,"id_slot":{},"cache_prompt":true}})",
        fmt::join(tokens, ","), slot);
    auto reply = co_await call("POST", "/completion", std::move(body), deadline);
    co_return read_with(read_computed, reply);
}

awaitable<call_result<next_token>>
client::look_ahead(int slot, std::vector<token> prompt, bool reuse, time_point deadline) {
    constexpr int compared = 10;
    auto body = fmt::format(
        R"({{"prompt":[{}],"n_predict":1,"id_slot":{},"cache_prompt":{},"temperature":0,"n_probs":{}}})",
        fmt::join(prompt, ","), slot, reuse, compared);
    auto reply = co_await call("POST", "/completion", std::move(body), deadline);
    co_return read_with(read_next_token, reply);
}

awaitable<call_result<std::uint64_t>> client::vocabulary_size(time_point deadline) {
    auto reply = co_await call("GET", "/v1/models", "", deadline);
    co_return read_with(read_vocabulary_size, reply);
}

awaitable<call_result<nothing>>
client::delete_stream(std::string conversation_id, time_point deadline) {
    auto target = "/v1/stream?conv_id=" + percent_encoded(conversation_id);
    const auto reply = co_await call("DELETE", std::move(target), "", deadline);
    co_return reply ? call_result<nothing>(nothing{}) : call_result<nothing>(reply.failure());
}

} // namespace hibernate::llama

// Completions of the scripted llama-server, and who waits for which slot.

#include <algorithm>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "waiter.hpp"

namespace fake {
namespace {

using clock = std::chrono::steady_clock;
using json = nlohmann::json;

token_list to_tokens(const std::string& text) {
    token_list tokens;
    for (const char byte : text)
        tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
}

std::string to_text(const token_list& tokens, std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < tokens.size(); ++i)
        text.push_back(static_cast<char>(tokens[i]));
    return text;
}

/// A string, a list of token ids, or a list of both.
token_list read_prompt(const json& prompt) {
    if (prompt.is_string())
        return to_tokens(prompt.get<std::string>());
    token_list tokens;
    for (const json& part : prompt) {
        if (part.is_number_integer()) {
            tokens.push_back(part.get<std::int32_t>());
        } else {
            const token_list more = to_tokens(part.get<std::string>());
            tokens.insert(tokens.end(), more.begin(), more.end());
        }
    }
    return tokens;
}

double to_milliseconds(clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

} // namespace

std::string apply_template(const std::string& chat_body) {
    std::string text;
    const json body = json::parse(chat_body);
    for (const json& message : body.at("messages")) {
        const json& content = message.at("content");
        text += "<|im_start|>" + message.at("role").get<std::string>() + "\n";
        if (content.is_string())
            text += content.get<std::string>();
        else if (content.is_array())
            for (const json& part : content)
                text += part.value("text", "");
        text += "<|im_end|>\n";
    }
    return text + "<|im_start|>assistant\n";
}

std::string tokenize(const std::string& body) {
    json answer;
    answer["tokens"] = to_tokens(json::parse(body).at("content").get<std::string>());
    return answer.dump();
}

struct server::generation {
    enum class api { native, text, chat };
    api style = api::native;
    token_list prompt;
    std::size_t limit = 0;
    bool stream = false;
    bool reuse = true;
    std::optional<std::size_t> pinned;
    std::string conversation;
    std::shared_ptr<bool> ended; ///< set by DELETE /v1/stream
    std::string model;

    std::size_t slot = 0;
    std::size_t reused = 0;
    std::size_t produced = 0;
    std::string text;
    bool tells_probabilities = false;
    std::vector<std::pair<std::int32_t, double>> likely; ///< after the prompt
    clock::time_point begun, first_token, last_look;
    bool detached = false; ///< the client left a resumable stream

    json timings() const {
        const std::size_t computed = prompt.size() - reused;
        const double prompt_ms = to_milliseconds(first_token - begun) + 0.001;
        const double predicted_ms = to_milliseconds(clock::now() - first_token) + 0.001;
        return {
            {"cache_n", reused},
            {"prompt_n", computed},
            {"prompt_ms", prompt_ms},
            {"prompt_per_token_ms",
             prompt_ms / static_cast<double>(std::max<std::size_t>(computed, 1))},
            {"prompt_per_second", 1000.0 * static_cast<double>(computed) / prompt_ms},
            {"predicted_n", produced},
            {"predicted_ms", predicted_ms},
            {"predicted_per_token_ms",
             predicted_ms / static_cast<double>(std::max<std::size_t>(produced, 1))},
            {"predicted_per_second", 1000.0 * static_cast<double>(produced) / predicted_ms}};
    }

    json usage() const {
        return {
            {"completion_tokens", produced},
            {"prompt_tokens", prompt.size()},
            {"total_tokens", produced + prompt.size()},
            {"prompt_tokens_details", {{"cached_tokens", reused}}}};
    }

    json envelope(const std::string& object) const {
        return {{"created", 1700000000}, {"id", "fake-1"}, {"model", model}, {"object", object}};
    }

    json partial(const std::string& piece) const {
        if (style == api::native)
            return {
                {"index", 0},
                {"content", piece},
                {"tokens", to_tokens(piece)},
                {"stop", false},
                {"id_slot", -1},
                {"tokens_predicted", produced},
                {"tokens_evaluated", prompt.size()}};
        json event = envelope(style == api::chat ? "chat.completion.chunk" : "text_completion");
        json choice = {{"index", 0}, {"finish_reason", nullptr}};
        if (style == api::chat)
            choice["delta"] = {{"content", piece}};
        else
            choice["text"] = piece;
        event["choices"] = json::array({choice});
        return event;
    }

    json final_native() const {
        json answer = {
            {"index", 0},
            {"content", stream ? std::string() : text},
            {"tokens", json::array()},
            {"id_slot", slot},
            {"stop", true},
            {"model", model},
            {"tokens_predicted", produced},
            {"tokens_evaluated", prompt.size()},
            {"prompt", to_text(prompt, 0)},
            {"truncated", false},
            {"stop_type", "limit"},
            {"stopping_word", ""},
            {"tokens_cached", prompt.size() + produced - 1},
            {"timings", timings()}};
        if (tells_probabilities) {
            json listed = json::array();
            for (const auto& [token, logarithm] : likely)
                listed.push_back({{"id", token}, {"logprob", logarithm}});
            answer["completion_probabilities"] = json::array({{{"top_logprobs", listed}}});
        }
        return answer;
    }

    json whole() const {
        if (style == api::native)
            return final_native();
        json answer = envelope(style == api::chat ? "chat.completion" : "text_completion");
        json choice = {{"index", 0}, {"finish_reason", "length"}};
        if (style == api::chat)
            choice["message"] = {{"role", "assistant"}, {"content", text}};
        else
            choice["text"] = text;
        answer["choices"] = json::array({choice});
        answer["usage"] = usage();
        answer["timings"] = timings();
        return answer;
    }

    json last_event() const {
        if (style == api::native)
            return final_native();
        json event = partial("");
        event["choices"][0]["finish_reason"] = "length";
        if (style == api::chat)
            event["choices"][0]["delta"] = json::object();
        event["timings"] = timings();
        return event;
    }

    void read(const std::string& path, const http_request& request, const settings& settings) {
        const json body = json::parse(request.body());
        if (path == "/v1/chat/completions" || path == "/chat/completions") {
            style = api::chat;
            prompt = to_tokens(apply_template(request.body()));
        } else {
            style = path.starts_with("/v1/") ? api::text : api::native;
            prompt = read_prompt(body.at("prompt"));
        }
        long wanted = -1;
        for (const char* name : {"n_predict", "max_tokens", "max_completion_tokens"})
            if (body.contains(name))
                wanted = body.at(name).get<long>();
        limit = wanted < 0 ? settings.tokens : static_cast<std::size_t>(std::max(wanted, 1L));
        stream = body.value("stream", false);
        reuse = body.value("cache_prompt", true);
        tells_probabilities = body.value("n_probs", 0) > 0;
        model = settings.alias.empty() ? settings.model : settings.alias;
    }
};

asio::awaitable<void> server::complete(connection& client, std::string path) {
    generation work;
    std::string problem;
    long pinned = -1;
    try {
        work.read(path, client.request(), settings_);
        const json body = json::parse(client.request().body());
        if (body.contains("id_slot") && body.at("id_slot").is_number_integer())
            pinned = body.at("id_slot").get<long>();
    } catch (const std::exception& caught) {
        problem = caught.what();
    }
    if (!problem.empty()) {
        co_await client.reply_error(400, "invalid_request_error", problem);
        co_return;
    }
    if (work.prompt.size() >= static_cast<std::size_t>(settings_.slot_context())) {
        co_await client.reply_error(
            400, "exceed_context_size_error",
            "the request exceeds the available context size, try increasing it");
        co_return;
    }
    if (pinned >= 0)
        work.pinned = slots_.wrapped(pinned);
    if (work.stream)
        work.conversation = client.header("X-Conversation-Id");
    waiter wanted;
    wanted.pinned = work.pinned;
    wanted.prompt = &work.prompt;
    wanted.reuse = work.reuse;
    const bool acquired = co_await acquire(client, wanted);
    if (!acquired) {
        co_await wait_for_client_to_go(client);
        co_return;
    }
    work.slot = wanted.slot;
    work.reused = wanted.reused;
    if (!work.conversation.empty()) {
        work.ended = std::make_shared<bool>(false);
        streams_[work.conversation] = work.ended;
    }
    co_await generate(client, work);
    note_activity();
}

asio::awaitable<void> server::generate(connection& client, generation& work) {
    crash_if("request");
    if (harmed_) {
        release(work.slot);
        if (settings_.harm == "silent")
            co_await wait_for_client_to_go(client);
        else
            co_await client.reply_error(500, "server_error", "Compute error.");
        co_return;
    }
    work.begun = work.last_look = clock::now();
    slot& mine = slots_.at(work.slot);
    bool go_on = co_await pause(client, work, settings_.prefill);
    work.first_token = clock::now();
    if (go_on && work.stream)
        co_await client.begin_stream();
    const auto context = static_cast<std::size_t>(settings_.slot_context());
    work.likely = next_tokens(mine.held, mine.weights, work.reused != 0);
    std::int32_t sampled = 0;
    while (go_on && work.produced < work.limit && mine.held.size() < context) {
        if (work.produced > 0) {
            go_on = co_await pause(client, work, settings_.token);
            if (!go_on)
                break;
            // A sampled token is in the cache only once it is decoded for the next one.
            mine.held.push_back(sampled);
        }
        sampled = next_token(mine.held);
        ++work.produced;
        std::string piece(1, static_cast<char>(sampled));
        work.text += piece;
        if (work.stream && !work.detached) {
            std::string event = work.partial(piece).dump();
            co_await client.send_event(std::move(event));
        }
    }
    co_await loop_turn();
    release(work.slot);
    const bool deleted = work.ended && *work.ended;
    if (!go_on && !deleted) {
        co_await wait_for_client_to_go(client);
        co_return;
    }
    if (work.ended && !deleted)
        streams_.erase(work.conversation);
    if (!work.stream) {
        std::string body = work.whole().dump();
        co_await client.reply(200, std::move(body));
    } else if (!work.detached) {
        std::string event = work.last_event().dump();
        co_await client.send_event(std::move(event));
        std::string done = "[DONE]";
        if (work.style != generation::api::native)
            co_await client.send_event(std::move(done));
        co_await client.end_stream();
    }
}

asio::awaitable<bool> server::acquire(connection& client, waiter& wanted) {
    co_await loop_turn();
    if (satisfiable(wanted)) {
        grant(wanted);
        co_return true;
    }
    waiters_.push_back(&wanted);
    asio::steady_timer timer(context_);
    while (!wanted.granted) {
        // An action is done though nobody waits for it any more.
        const bool given_up = wanted.what == waiter::kind::completion && client.client_gone();
        if (stopping_ || given_up) {
            std::erase(waiters_, &wanted);
            co_return false;
        }
        timer.expires_after(milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
}

bool server::satisfiable(const waiter& wanted) {
    if (wanted.pinned)
        return !slots_.at(*wanted.pinned).busy;
    return slots_.choose(*wanted.prompt).has_value();
}

void server::grant(waiter& wanted) {
    wanted.granted = true;
    if (wanted.what == waiter::kind::action) {
        wanted.slot = *wanted.pinned;
        loop_blocked_ = true;
        return;
    }
    const slot_table::choice choice =
        wanted.pinned ? slot_table::choice{*wanted.pinned, false} : *slots_.choose(*wanted.prompt);
    wanted.slot = choice.slot;
    wanted.reused = slots_.begin(choice.slot, *wanted.prompt, choice.by_age, wanted.reuse);
}

void server::release(std::size_t id) {
    slots_.at(id).busy = false;
    // One waiting task is woken, a completion before an action. If a second one could go as well,
    // it waits for the next release: the real server loses that wake-up too.
    for (const auto kind : {waiter::kind::completion, waiter::kind::action}) {
        for (waiter* each : waiters_) {
            if (each->what == kind && satisfiable(*each)) {
                std::erase(waiters_, each);
                grant(*each);
                return;
            }
        }
    }
}

asio::awaitable<void> server::loop_turn() {
    asio::steady_timer timer(context_);
    while (loop_blocked_) {
        timer.expires_after(milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<bool> server::pause(connection& client, generation& work, milliseconds time) {
    const auto until = clock::now() + time;
    asio::steady_timer timer(context_);
    do {
        timer.expires_at(std::min(until, clock::now() + milliseconds(5)));
        co_await timer.async_wait(asio::use_awaitable);
        if (stopping_ || (work.ended && *work.ended))
            co_return false;
        // Without a stream the real server looks for its client only once a second.
        const bool look = work.stream || clock::now() - work.last_look >= std::chrono::seconds(1);
        if (look && !work.detached && client.client_gone()) {
            if (work.conversation.empty())
                co_return false;
            work.detached = true;
        }
        if (look)
            work.last_look = clock::now();
    } while (clock::now() < until);
    co_await loop_turn();
    co_return true;
}

asio::awaitable<void> server::wait_for_client_to_go(connection& client) {
    asio::steady_timer timer(context_);
    while (!client.client_gone()) {
        timer.expires_after(milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
    }
    client.close();
}

} // namespace fake

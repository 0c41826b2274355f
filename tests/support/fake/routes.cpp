// The endpoints of the scripted llama-server other than completions.

#include <algorithm>
#include <fstream>
#include <sstream>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "waiter.hpp"

namespace fake {
namespace {

using json = nlohmann::json;

bool is_valid_file_name(const std::string& name) {
    return !name.empty() && name.size() <= 255 && name != "." &&
           name.find("..") == std::string::npos &&
           name.find_first_of("/\\:*?\"<>|") == std::string::npos && name.front() != ' ' &&
           name.back() != ' ' && name.back() != '.' &&
           std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
}

/// 0 is the end: false.
bool take_one(int& count) {
    if (count > 0)
        --count;
    else if (count == 0)
        return false;
    return true;
}

/// False if the disk took less than that.
bool write_file(const std::string& name, std::ios::openmode how, std::string_view bytes) {
    std::ofstream file(name, std::ios::binary | how);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    return bool(file);
}

} // namespace

asio::awaitable<void> server::answer(connection& client) {
    std::string path = client.path();
    const bool options = client.request().method() == boost::beast::http::verb::options;
    if (options) {
        co_await client.reply(200, "");
        co_return;
    }
    if (!loaded_) {
        co_await client.reply_error(503, "unavailable_error", "Loading model");
        co_return;
    }
    if (!path.starts_with(settings_.api_prefix)) {
        co_await client.reply_error(404, "not_found_error", "File Not Found");
        co_return;
    }
    path.erase(0, settings_.api_prefix.size());
    if (!authorized(client, path)) {
        co_await client.reply_error(401, "authentication_error", "Invalid API Key");
        co_return;
    }
    co_await answer_loaded(client, path);
}

bool server::authorized(const connection& client, const std::string& path) const {
    if (settings_.api_keys.empty() || path == "/health" || path == "/v1/health" || path == "/")
        return true;
    std::string given = client.header("Authorization");
    given = given.starts_with("Bearer ") ? given.substr(7) : client.header("X-Api-Key");
    const auto& keys = settings_.api_keys;
    return std::find(keys.begin(), keys.end(), given) != keys.end();
}

asio::awaitable<void> server::answer_loaded(connection& client, std::string path) {
    using boost::beast::http::verb;
    const verb method = client.request().method();
    const bool get = method == verb::get || method == verb::head;
    const bool post = method == verb::post;
    std::string body;
    std::string problem;
    if (get && (path == "/health" || path == "/v1/health")) {
        body = "{\"status\":\"ok\"}";
    } else if (get && path == "/props") {
        body = properties_body();
    } else if (get && (path == "/v1/models" || path == "/models")) {
        body = models_body();
    } else if (get && path == "/") {
        co_await client.reply(200, "<html>fake</html>", "text/html; charset=utf-8");
        co_return;
    } else if (get && path == "/slots") {
        if (!settings_.slots_endpoint) {
            co_await client.reply_error(
                501, "not_supported_error",
                "This server does not support slots endpoint. Start it without `--no-slots`");
            co_return;
        }
        crash_if("slots");
        note_activity();
        co_await loop_turn();
        body = slots_body();
    } else if (post && path.starts_with("/slots/")) {
        note_activity();
        co_await slot_action(client, path);
        co_return;
    } else if (
        post && (path == "/completion" || path == "/completions" || path == "/v1/completions" ||
                 path == "/v1/chat/completions" || path == "/chat/completions")) {
        note_activity();
        co_await complete(client, path);
        co_return;
    } else if (post && (path == "/tokenize" || path == "/apply-template")) {
        note_activity();
        try {
            body = path == "/tokenize"
                       ? tokenize(client.request().body())
                       : json{{"prompt", apply_template(client.request().body())}}.dump();
        } catch (const std::exception& caught) {
            problem = caught.what();
        }
    } else if (method == verb::delete_ && path == "/v1/stream") {
        const std::string id = client.query("conv_id");
        if (const auto found = streams_.find(id); found != streams_.end()) {
            *found->second = true;
            streams_.erase(found);
        }
        co_await client.reply(204, "", "application/json");
        co_return;
    } else {
        co_await client.reply_error(404, "not_found_error", "File Not Found");
        co_return;
    }
    if (problem.empty())
        co_await client.reply(200, std::move(body));
    else
        co_await client.reply_error(400, "invalid_request_error", problem);
}

std::string server::properties_body() {
    json props;
    props["default_generation_settings"]["n_ctx"] = settings_.slot_context();
    props["total_slots"] = slots_.size();
    props["model_alias"] = settings_.alias.empty() ? settings_.model : settings_.alias;
    props["model_path"] = settings_.model;
    props["chat_template"] = "";
    props["build_info"] = settings_.build;
    props["is_sleeping"] = asleep();
    return props.dump();
}

std::string server::models_body() {
    const std::string& name = settings_.alias.empty() ? settings_.model : settings_.alias;
    json model = {
        {"id", name},
        {"object", "model"},
        {"owned_by", "llamacpp"},
        {"meta", {{"n_vocab", 256}, {"n_ctx", settings_.slot_context()}}}};
    return json{{"object", "list"}, {"data", json::array({model})}}.dump();
}

std::string server::slots_body() {
    json list = json::array();
    for (std::size_t id = 0; id < slots_.size(); ++id) {
        const slot& each = slots_.at(id);
        json entry = {
            {"id", id},
            {"n_ctx", settings_.slot_context()},
            {"speculative", false},
            {"is_processing", each.busy}};
        // The real server knows no count either, before a slot's first task.
        if (each.task >= 0) {
            entry["id_task"] = each.task;
            entry["n_prompt_tokens"] = each.held.size();
            entry["n_prompt_tokens_processed"] = 0;
            entry["n_prompt_tokens_cache"] = 0;
            entry["params"] = json::object();
            entry["next_token"] = json::array(
                {{{"has_next_token", each.busy},
                  {"has_new_line", false},
                  {"n_remain", -1},
                  {"n_decoded", 0}}});
        }
        list.push_back(std::move(entry));
    }
    return list.dump();
}

asio::awaitable<void> server::slot_action(connection& client, std::string path) {
    if (settings_.slot_save_path.empty()) {
        co_await client.reply_error(
            501, "not_supported_error",
            "This server does not support slots action. Start it with `--slot-save-path`");
        co_return;
    }
    long id = 0;
    std::string problem;
    std::string file_name;
    const std::string action = client.query("action");
    try {
        id = std::stoi(path.substr(std::string("/slots/").size()));
    } catch (const std::exception&) {
        problem = "Invalid slot ID";
    }
    if (problem.empty() && action != "save" && action != "restore" && action != "erase")
        problem = "Invalid action";
    if (problem.empty() && action != "erase") {
        try {
            file_name = json::parse(client.request().body()).at("filename").get<std::string>();
            if (!is_valid_file_name(file_name))
                problem = "Invalid filename";
        } catch (const std::exception& caught) {
            problem = caught.what();
        }
    }
    if (!problem.empty()) {
        co_await client.reply_error(400, "invalid_request_error", problem);
        co_return;
    }
    waiter wanted;
    wanted.what = waiter::kind::action;
    wanted.pinned = slots_.wrapped(id);
    const bool acquired = co_await acquire(client, wanted);
    if (!acquired) {
        co_await wait_for_client_to_go(client);
        co_return;
    }
    // The main loop stands still until the action is over, whether or not the client is there.
    if (action == "save") {
        co_await save(client, id, file_name);
    } else if (action == "restore") {
        co_await restore(client, id, file_name);
    } else {
        slot& target = slots_.at(wanted.slot);
        std::string body = json{{"id_slot", id}, {"n_erased", target.held.size()}}.dump();
        target.held.clear();
        loop_blocked_ = false;
        co_await client.reply(200, std::move(body));
    }
    note_activity();
}

asio::awaitable<void> server::save(connection& client, long id, std::string file_name) {
    const slot& source = slots_.at(slots_.wrapped(id));
    const state_format format{
        settings_.state_version, settings_.stream_count(), settings_.bytes_per_token,
        source.weights};
    const std::string bytes = encode_state(source.held, format);
    const std::string target = settings_.slot_save_path + "/" + file_name;
    const std::string_view whole(bytes);
    const bool begun = write_file(target, std::ios::trunc, whole.substr(0, bytes.size() / 2));
    crash_if("save");
    bool fails = take_one(settings_.fail_saves) || !begun;
    asio::steady_timer timer(context_, settings_.save);
    co_await timer.async_wait(asio::use_awaitable);
    fails = fails || !write_file(target, std::ios::app, whole.substr(bytes.size() / 2));
    loop_blocked_ = false;
    if (take_one(settings_.unsupported_saves)) {
        co_await client.reply_error(
            501, "not_supported_error", "This slot holds media that cannot be saved");
        co_return;
    }
    if (fails) {
        co_await client.reply_error(500, "server_error", "Unable to save slot");
        co_return;
    }
    std::string body =
        json{
            {"id_slot", id},
            {"filename", file_name},
            {"n_saved", source.held.size()},
            {"n_written", bytes.size()},
            {"timings", {{"save_ms", static_cast<double>(settings_.save.count()) + 0.1}}}}
            .dump();
    co_await client.reply(200, std::move(body));
}

asio::awaitable<void> server::restore(connection& client, long id, std::string file_name) {
    crash_if("restore");
    asio::steady_timer timer(context_, settings_.restore);
    co_await timer.async_wait(asio::use_awaitable);
    slot& target = slots_.at(slots_.wrapped(id));
    target.held.clear();
    std::ifstream file(settings_.slot_save_path + "/" + file_name, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    const std::string bytes = content.str();
    const state_format format{
        settings_.state_version, settings_.stream_count(), settings_.bytes_per_token};
    token_list tokens;
    state_verdict verdict = decode_state(bytes, format, tokens);
    if (verdict == state_verdict::aborting) {
        say("GGML_ASSERT(nread <= state_size) failed");
        std::abort();
    }
    if (take_one(settings_.fail_restores) ||
        tokens.size() > static_cast<std::size_t>(settings_.slot_context()))
        verdict = state_verdict::refused;
    loop_blocked_ = false;
    if (verdict != state_verdict::good) {
        harmed_ = !settings_.harm.empty();
        co_await client.reply_error(
            400, "invalid_request_error",
            "Unable to restore slot: No available space in KV cache or invalid slot save file");
        co_return;
    }
    tokens.resize(
        tokens.size() - std::min(tokens.size(), static_cast<std::size_t>(settings_.lost_tokens)));
    target.weights = tokens.empty() ? settings_.weights : weights_in(bytes, format);
    target.held = tokens;
    target.useless = settings_.useless_restores;
    std::string body =
        json{
            {"id_slot", id},
            {"filename", file_name},
            {"n_restored", tokens.size()},
            {"n_read", bytes.size()},
            {"timings", {{"restore_ms", static_cast<double>(settings_.restore.count()) + 0.1}}}}
            .dump();
    co_await client.reply(200, std::move(body));
}

void server::note_activity() {
    asleep();
    asleep_ = false;
    last_activity_ = std::chrono::steady_clock::now();
}

bool server::asleep() {
    const auto limit = std::chrono::seconds(settings_.sleep_idle_seconds);
    if (!asleep_ && settings_.sleep_idle_seconds >= 0 && open_requests_ <= 1 &&
        std::chrono::steady_clock::now() - last_activity_ >= limit) {
        slots_.forget();
        asleep_ = true;
    }
    return asleep_;
}

} // namespace fake

// The pure readers of llama-server's JSON bodies (client.hpp).

#include <nlohmann/json.hpp>

#include "llama_hibernate/llama/client.hpp"

namespace hibernate::llama {

namespace {

using json = nlohmann::json;

/// Runs a reader over the parsed body; whatever does not fit becomes one call_failure.
template <typename Answer, typename Reader>
call_result<Answer> read_json(std::string_view body, const char* what, Reader reader) {
    try {
        return reader(json::parse(body));
    } catch (const json::exception&) {
        return call_failure{
            200, std::string("llama-server's answer to ") + what + " is not as expected"};
    }
}

std::chrono::microseconds milliseconds_in(const json& body, const char* name) {
    const auto timings = body.find("timings");
    const double ms = timings == body.end() ? 0.0 : timings->value(name, 0.0);
    return std::chrono::microseconds(static_cast<std::int64_t>(ms * 1000.0));
}

} // namespace

call_result<properties> read_properties(std::string_view body) {
    return read_json<properties>(body, "/props", [](const json& from) {
        properties result;
        result.total_slots = from.at("total_slots").get<int>();
        result.model_path = from.value("model_path", "");
        result.build = from.value("build_info", "");
        if (const auto settings = from.find("default_generation_settings");
            settings != from.end()) {
            result.context_size = settings->value("n_ctx", std::uint64_t{0});
        }
        result.is_sleeping = from.value("is_sleeping", false);
        return result;
    });
}

call_result<std::vector<slot>> read_slots(std::string_view body) {
    return read_json<std::vector<slot>>(body, "/slots", [](const json& from) {
        std::vector<slot> result;
        for (const auto& item : from) {
            slot one;
            one.id = item.at("id").get<int>();
            one.context_size = item.value("n_ctx", 0);
            one.is_processing = item.value("is_processing", false);
            one.speculative = item.value("speculative", false);
            one.task = item.value("id_task", std::int64_t{-1});
            if (const auto tokens = item.find("n_prompt_tokens"); tokens != item.end()) {
                one.tokens = tokens->get<std::uint64_t>();
            }
            result.push_back(one);
        }
        return result;
    });
}

call_result<saved> read_saved(std::string_view body) {
    return read_json<saved>(body, "a save", [](const json& from) {
        return saved{
            from.at("n_saved").get<std::uint64_t>(), from.at("n_written").get<std::uint64_t>(),
            milliseconds_in(from, "save_ms")};
    });
}

call_result<restored> read_restored(std::string_view body) {
    return read_json<restored>(body, "a restore", [](const json& from) {
        return restored{
            from.at("n_restored").get<std::uint64_t>(), from.at("n_read").get<std::uint64_t>(),
            milliseconds_in(from, "restore_ms")};
    });
}

call_result<nothing> read_generated(std::string_view body) {
    const auto read = [](const json& from) {
        const auto count = from.at("tokens_predicted").get<std::uint64_t>();
        return count != 0 ? call_result<nothing>(nothing{})
                          : call_result<nothing>(call_failure{200, "it generated nothing"});
    };
    try {
        return read(json::parse(body));
    } catch (const json::exception&) {
        return call_failure{200, "llama-server's answer to a completion is not as expected"};
    }
}

call_result<std::uint64_t> read_computed(std::string_view body) {
    return read_json<std::uint64_t>(body, "a completion", [](const json& from) {
        return from.at("timings").at("prompt_n").get<std::uint64_t>();
    });
}

call_result<next_token> read_next_token(std::string_view body) {
    return read_json<next_token>(body, "a completion", [](const json& from) {
        next_token result;
        result.reused = from.at("timings").at("cache_n").get<std::uint64_t>();
        for (const auto& one : from.at("completion_probabilities").at(0).at("top_logprobs")) {
            result.log_probabilities[one.at("id").get<token>()] = one.at("logprob").get<double>();
        }
        return result;
    });
}

call_result<std::uint64_t> read_vocabulary_size(std::string_view body) {
    return read_json<std::uint64_t>(body, "/v1/models", [](const json& from) {
        return from.at("data").at(0).at("meta").at("n_vocab").get<std::uint64_t>();
    });
}

std::string read_error_message(std::string_view body) {
    constexpr std::size_t enough = 200;
    const auto parsed = json::parse(body, nullptr, false);
    if (parsed.is_object() && parsed.contains("error") && parsed["error"].is_object()) {
        const auto message = parsed["error"].find("message");
        if (message != parsed["error"].end() && message->is_string()) {
            return message->get<std::string>();
        }
    }
    return std::string(body.substr(0, enough));
}

} // namespace hibernate::llama

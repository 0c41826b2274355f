#include "llama_hibernate/app/slot_action.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include <nlohmann/json.hpp>

#include "llama_hibernate/proxy/target.hpp"
#include "llama_hibernate/store/reserved_name.hpp"

namespace hibernate::app {

using nlohmann::json;

namespace {

proxy::refusal invalid(std::string message) {
    return {400, std::move(message), "invalid_request_error"};
}

/// Digits only: llama-server reads " 1abc" as 1.
std::optional<int> read_id(std::string_view text) {
    int id = 0;
    const bool digits =
        std::all_of(text.begin(), text.end(), [](char one) { return one >= '0' && one <= '9'; });
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    return digits && !text.empty() && error == std::errc{} ? std::optional(id) : std::nullopt;
}

/// The action, if the query names exactly one, and no slot beside the path's.
std::optional<std::string> action_in(std::string_view query) {
    std::optional<std::string> action;
    for (const auto& [name, value] : proxy::query_parameters(query)) {
        if (name == "id_slot" || (name == "action" && action)) {
            return std::nullopt;
        }
        if (name == "action") {
            action = value;
        }
    }
    return action;
}

bool begins_with(std::string_view text, std::string_view lower_case_start) {
    return text.size() >= lower_case_start.size() &&
           std::equal(
               lower_case_start.begin(), lower_case_start.end(), text.begin(),
               [](char lower, char any) {
                   return lower == (any >= 'A' && any <= 'Z' ? any - 'A' + 'a' : any);
               });
}

bool is_control(char one) {
    return static_cast<unsigned char>(one) < 0x20 || one == 0x7F;
}

} // namespace

slot_action_reading
read_slot_action(std::string_view id, std::string_view query, std::optional<int> slot_count) {
    const auto slot = read_id(id);
    if (!slot || (slot_count && *slot >= *slot_count)) {
        return {std::nullopt, invalid("Invalid slot ID")};
    }
    const auto action = action_in(query);
    if (action != "save" && action != "restore" && action != "erase") {
        return {std::nullopt, invalid("Invalid action")};
    }
    return {slot_action{*slot, action != "save"}, {}};
}

std::optional<proxy::refusal> refuse_slot_file(
    std::string_view body_start,
    std::optional<std::string_view> content_type,
    std::optional<std::string_view> content_encoding) {
    // llama-server would make another body of it, or take parameters out of it. That "curl -d"
    // calls JSON a form is common, and does no harm where nothing separates parameters.
    const auto type = content_type.value_or("");
    const bool form = begins_with(type, "application/x-www-form-urlencoded") &&
                      body_start.find('&') != std::string_view::npos;
    if (content_encoding || form || begins_with(type, "multipart/")) {
        return invalid("The body of a slot action must be sent as application/json");
    }
    int names = 0;
    const auto count_names = [&names](int depth, json::parse_event_t event, json& parsed) {
        names += event == json::parse_event_t::key && depth == 1 && parsed == "filename" ? 1 : 0;
        return true;
    };
    const auto body = json::parse(body_start, count_names, false);
    if (!body.is_object() || names > 1) {
        return invalid("The body of a slot action must be a short JSON object with one filename");
    }
    const auto found = body.find("filename");
    if (found == body.end()) {
        return std::nullopt; // an erase, or llama-server's own answer
    }
    const auto* name = found->get_ptr<const std::string*>();
    if (name == nullptr || std::any_of(name->begin(), name->end(), is_control)) {
        return invalid("Invalid filename");
    }
    if (store::is_reserved_name(*name)) {
        return proxy::refusal{
            403, "files of that name are llama-hibernate's own", "permission_error"};
    }
    return std::nullopt;
}

} // namespace hibernate::app

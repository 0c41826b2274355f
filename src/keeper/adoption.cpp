#include "llama_hibernate/keeper/adoption.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hibernate::keeper {

namespace {

constexpr std::size_t most_digits = 6;
constexpr std::size_t most_probed = 64;
/// After a few tokens alone, models that are akin say the same.
constexpr std::uint64_t fewest_tokens = 16;

double least_listed(const llama::next_token& answer) {
    double least = 0;
    for (const auto& [token, value] : answer.log_probabilities) {
        least = std::min(least, value);
    }
    return least;
}

/// By how much the tokens that one lists differ in the other.
double difference_seen_from(const llama::next_token& one, const llama::next_token& other) {
    const double elsewhere = least_listed(other);
    double largest = 0;
    for (const auto& [token, value] : one.log_probabilities) {
        const auto twin = other.log_probabilities.find(token);
        const double difference = twin != other.log_probabilities.end()
                                      ? std::abs(value - twin->second)
                                      : value - elsewhere;
        largest = std::max(largest, difference);
    }
    return largest;
}

bool all_finite(const llama::next_token& answer) {
    return std::all_of(
        answer.log_probabilities.begin(), answer.log_probabilities.end(),
        [](const auto& one) { return std::isfinite(one.second); });
}

} // namespace

bool is_adoptable_name(std::string_view name) {
    constexpr std::string_view extension = ".bin";
    if (!name.ends_with(extension)) {
        return false;
    }
    const auto number = name.substr(0, name.size() - extension.size());
    return !number.empty() && number.size() <= most_digits &&
           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string why_unfit(const llama::state_file_head& head, const adoption_limits& limits) {
    const auto& tokens = head.tokens;
    const auto fewest = std::max(limits.min_tokens, fewest_tokens);
    if (tokens.empty()) {
        return "the slot was empty";
    }
    if (tokens.size() < fewest) {
        return fmt::format("it has {} tokens, fewer than {}", tokens.size(), fewest);
    }
    if (!head.media.empty()) {
        return "it holds images or sounds, which cannot be checked";
    }
    // The check asks for a token after all of them.
    if (limits.context_size != 0 && tokens.size() >= limits.context_size) {
        return fmt::format(
            "its {} tokens do not fit into a slot's context of {}", tokens.size(),
            limits.context_size);
    }
    const auto highest = *std::max_element(tokens.begin(), tokens.end());
    if (limits.vocabulary_size && static_cast<std::uint64_t>(highest) >= *limits.vocabulary_size) {
        return fmt::format(
            "it has the token {}, and the model knows {}", highest, *limits.vocabulary_size);
    }
    return {};
}

std::string why_uncheckable(llama::context_memory memory) {
    if (memory == llama::context_memory::everything) {
        return {};
    }
    return fmt::format(
        "the model ({}) cannot reuse the beginning of a saved state, so it cannot be checked "
        "whether it is this model's",
        llama::to_string(memory));
}

std::size_t probe_length(std::size_t tokens) {
    return std::min(most_probed, tokens - std::min<std::size_t>(tokens, 1));
}

std::optional<state_length> measure(const state_sample& shorter, const state_sample& longer) {
    if (longer.tokens <= shorter.tokens || longer.bytes <= shorter.bytes) {
        return std::nullopt;
    }
    const auto tokens = longer.tokens - shorter.tokens;
    const auto bytes = longer.bytes - shorter.bytes;
    const auto each = bytes / tokens;
    if (bytes % tokens != 0 || each * shorter.tokens > shorter.bytes) {
        return std::nullopt;
    }
    return state_length{shorter.bytes - each * shorter.tokens, each};
}

double log_difference(const llama::next_token& one, const llama::next_token& other) {
    return std::max(difference_seen_from(one, other), difference_seen_from(other, one));
}

std::string why_refused(
    const llama::next_token& computed, const llama::next_token& with_file, std::size_t tokens) {
    if (computed.reused != 0) {
        return fmt::format(
            "llama-server reused {} tokens where it should have computed all, so it cannot be "
            "checked",
            computed.reused);
    }
    if (with_file.reused + 1 != tokens) {
        return fmt::format(
            "llama-server reused {} of its first {} tokens, so it cannot be checked whether it is "
            "this model's",
            with_file.reused, tokens);
    }
    if (computed.log_probabilities.empty() || with_file.log_probabilities.empty() ||
        !all_finite(computed) || !all_finite(with_file)) {
        return "llama-server does not tell the probabilities that the check compares";
    }
    const double difference = log_difference(computed, with_file);
    if (!(difference <= most_log_difference)) {
        return fmt::format(
            "another model wrote it, or this one under other arguments: after its first {} tokens "
            "the logarithms of the probabilities differ by {:.3f}, and {} is the most",
            tokens, difference, most_log_difference);
    }
    return {};
}

} // namespace hibernate::keeper

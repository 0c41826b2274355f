#include "llama_hibernate/proxy/target.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace hibernate::proxy {

namespace {

std::optional<unsigned> hex_number(std::string_view digits) {
    unsigned value = 0;
    for (const char digit : digits) {
        value *= 16;
        if (digit >= '0' && digit <= '9') {
            value += static_cast<unsigned>(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            value += static_cast<unsigned>(digit - 'a' + 10);
        } else if (digit >= 'A' && digit <= 'F') {
            value += static_cast<unsigned>(digit - 'A' + 10);
        } else {
            return std::nullopt;
        }
    }
    return value;
}

void append_utf8(std::string& text, unsigned code_point) {
    const auto low_bits = [&](unsigned shift) {
        return static_cast<char>(0x80U | ((code_point >> shift) & 0x3FU));
    };
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        text += static_cast<char>(0xC0U | (code_point >> 6U));
        text += low_bits(0);
    } else {
        text += static_cast<char>(0xE0U | (code_point >> 12U));
        text += low_bits(6);
        text += low_bits(0);
    }
}

std::string percent_decoded(std::string_view text) {
    constexpr std::size_t byte_form = 3;    // %41
    constexpr std::size_t unicode_form = 6; // %u0041
    std::string decoded;
    decoded.reserve(text.size());
    while (!text.empty()) {
        std::size_t taken = 1;
        std::optional<unsigned> value;
        if (text[0] == '%' && text.size() >= unicode_form && text[1] == 'u') {
            value = hex_number(text.substr(2, 4));
            taken = value ? unicode_form : 1;
        } else if (text[0] == '%' && text.size() >= byte_form) {
            value = hex_number(text.substr(1, 2));
            taken = value ? byte_form : 1;
        }
        if (!value) {
            decoded += text[0];
        } else if (taken == unicode_form) {
            append_utf8(decoded, *value);
        } else {
            decoded += static_cast<char>(*value);
        }
        text.remove_prefix(taken);
    }
    return decoded;
}

/// Resolves ".", ".." and empty segments; a final slash stays.
std::string without_dot_segments(std::string_view path) {
    std::vector<std::string_view> segments;
    bool ends_in_slash = false;
    while (!path.empty()) {
        const auto slash = path.find('/');
        const auto segment = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        ends_in_slash = slash != std::string_view::npos || segment == "." || segment == "..";
        if (segment == "..") {
            if (!segments.empty()) {
                segments.pop_back();
            }
        } else if (!segment.empty() && segment != ".") {
            segments.push_back(segment);
        }
    }
    std::string resolved;
    for (const auto segment : segments) {
        resolved += '/';
        resolved += segment;
    }
    if (ends_in_slash || resolved.empty()) {
        resolved += '/';
    }
    return resolved;
}

std::string_view without_authority(std::string_view target) {
    const auto scheme_end = target.find("://");
    if (target.starts_with('/') || scheme_end == std::string_view::npos ||
        target.find_first_of("/?#") < scheme_end) {
        return target;
    }
    target.remove_prefix(scheme_end + 3);
    const auto path = target.find_first_of("/?#");
    return path == std::string_view::npos ? std::string_view() : target.substr(path);
}

} // namespace

std::string path_as_served(std::string_view target) {
    if (target == "*") {
        return std::string(target);
    }
    const auto origin_form = without_authority(target);
    const auto path = origin_form.substr(0, origin_form.find_first_of("?#"));
    return without_dot_segments(percent_decoded(path));
}

std::string prefix_as_served(std::string_view prefix) {
    auto resolved = without_dot_segments(prefix);
    if (resolved.ends_with('/')) {
        resolved.pop_back();
    }
    return resolved;
}

std::string_view query_of(std::string_view target) {
    target = target.substr(0, target.find('#'));
    const auto question_mark = target.find('?');
    return question_mark == std::string_view::npos ? std::string_view()
                                                   : target.substr(question_mark + 1);
}

std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query) {
    const auto decoded = [](std::string_view text) {
        std::string spaced(text);
        std::replace(spaced.begin(), spaced.end(), '+', ' ');
        return percent_decoded(spaced);
    };
    std::vector<std::pair<std::string, std::string>> parameters;
    while (!query.empty()) {
        const auto one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        const auto equals = std::min(one.find('='), one.size());
        if (!one.empty()) {
            parameters.emplace_back(
                decoded(one.substr(0, equals)),
                decoded(one.substr(std::min(equals + 1, one.size()))));
        }
    }
    return parameters;
}

} // namespace hibernate::proxy

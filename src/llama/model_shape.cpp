#include "model_shape.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace hibernate::llama {

model_shape::model_shape(const gguf_header& header) : header_(header) {
    const auto found = header.metadata.find("general.architecture");
    if (found != header.metadata.end()) {
        const auto* name = std::get_if<std::string>(&found->second);
        prefix_ = fmt::format("{}.", name != nullptr ? *name : "");
    }
}

std::optional<std::uint64_t> model_shape::number(std::string_view key, std::uint64_t most) const {
    const auto value = header_.whole_number(prefix_ + std::string(key));
    return value && *value <= most ? value : std::nullopt;
}

std::optional<gguf_list> model_shape::for_layers(std::string_view key, std::uint64_t layers) const {
    if (const auto same = number(key, max_length)) {
        return gguf_list(static_cast<std::size_t>(layers), *same);
    }
    const auto* each = list(key);
    const bool usable = each != nullptr && each->size() == layers &&
                        *std::max_element(each->begin(), each->end()) <= max_length;
    return usable ? std::optional(*each) : std::nullopt;
}

bool model_shape::has_any(std::string_view key_prefix) const {
    const auto wanted = prefix_ + std::string(key_prefix);
    const auto found = header_.metadata.lower_bound(wanted);
    return found != header_.metadata.end() && found->first.starts_with(wanted);
}

const gguf_list* model_shape::list(std::string_view key) const {
    return header_.list(prefix_ + std::string(key));
}

} // namespace hibernate::llama

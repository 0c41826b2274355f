#include "llama_hibernate/llama/context_memory.hpp"

#include <algorithm>
#include <limits>

#include "model_shape.hpp"

namespace hibernate::llama {

namespace {

constexpr auto any = std::numeric_limits<std::uint64_t>::max();

/// Each with the entries of its own that an architecture with such layers has.
bool has_recurrent_layers(const model_shape& model) {
    if (model.has_any("ssm.") || model.has_any("wkv.") || model.has_any("shortconv.") ||
        model.has_any("kda.") || model.number("full_attention_interval", any).value_or(0) > 1) {
        return true;
    }
    // A layer without heads has no attention; whatever it has instead is recurrent, or nothing.
    const auto* heads = model.list("attention.head_count_kv");
    return heads != nullptr && std::count(heads->begin(), heads->end(), 0U) != 0;
}

} // namespace

context_memory context_memory_of(const gguf_header& header) {
    const model_shape model(header);
    if (has_recurrent_layers(model)) {
        return context_memory::recurrent;
    }
    return model.number("attention.sliding_window", any).value_or(0) != 0
               ? context_memory::sliding_window
               : context_memory::everything;
}

const char* to_string(context_memory memory) {
    switch (memory) {
    case context_memory::everything:
        return "full-attention";
    case context_memory::sliding_window:
        return "sliding-window";
    case context_memory::recurrent:
        return "recurrent";
    }
    return "";
}

} // namespace hibernate::llama

#include "argument_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace hibernate::llama {
namespace {

std::optional<float> read_number(std::string_view text) {
    float value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end) {
        return std::nullopt;
    }
    return value;
}

/// --rope-scale N is --rope-freq-scale 1/N.
std::string reciprocal(std::string_view value) {
    const std::optional<float> number = read_number(value);
    return number && *number != 0 ? fmt::format("{}", 1.0f / *number) : std::string(value);
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), value) != words.end();
}

bool is_falsy(std::string_view value) {
    return is_one_of(value, {"off", "disabled", "false", "0"});
}

bool is_auto(std::string_view value) {
    return is_one_of(value, {"auto", "-1"});
}

std::string on_off_auto(std::string_view value) {
    if (is_truthy(value)) {
        return "on";
    }
    if (is_falsy(value)) {
        return "off";
    }
    return is_auto(value) ? "auto" : std::string(value);
}

using enum argument_use;
using enum argument_values;

constexpr std::array table = {
    // What we do in the child's place.
    known_argument{"host", "--host", taken_over, one, "LLAMA_ARG_HOST"},
    known_argument{"port", "--port", taken_over, one, "LLAMA_ARG_PORT"},
    known_argument{"reuse-port", "--reuse-port", taken_over, none, "LLAMA_ARG_REUSE_PORT"},
    known_argument{"ssl-key-file", "--ssl-key-file", taken_over, one, "LLAMA_ARG_SSL_KEY_FILE"},
    known_argument{"ssl-cert-file", "--ssl-cert-file", taken_over, one, "LLAMA_ARG_SSL_CERT_FILE"},
    known_argument{
        "slot-save-path", "--slot-save-path", taken_over, one, "LLAMA_ARG_SLOT_SAVE_PATH"},

    // What our own calls need.
    known_argument{
        .name = "api-key",
        .spellings = "--api-key",
        .use = read,
        .values = one,
        .environment = "LLAMA_API_KEY",
        .accumulates = true},
    known_argument{
        .name = "api-key-file",
        .spellings = "--api-key-file",
        .use = read,
        .values = one,
        .environment = "LLAMA_ARG_API_KEY_FILE",
        .accumulates = true},
    known_argument{"api-prefix", "--api-prefix", read, one, "LLAMA_ARG_API_PREFIX"},
    known_argument{"parallel", "-np --parallel", read, one, "LLAMA_ARG_N_PARALLEL"},
    known_argument{"threads-http", "--threads-http", read, one, "LLAMA_ARG_THREADS_HTTP"},
    known_argument{
        "kv-unified", "-kvu --kv-unified", read, none, "LLAMA_ARG_KV_UNIFIED",
        "-no-kvu --no-kv-unified"},
    known_argument{"sleep-idle-seconds", "--sleep-idle-seconds", read, one},
    known_argument{
        "cache-prompt", "--cache-prompt", read, none, "LLAMA_ARG_CACHE_PROMPT",
        "--no-cache-prompt"},
    known_argument{"embedding", "--embedding --embeddings", read, none, "LLAMA_ARG_EMBEDDINGS"},
    known_argument{"rerank", "--rerank --reranking", read, none, "LLAMA_ARG_RERANKING"},
    known_argument{"cache-ram", "-cram --cache-ram", read, one, "LLAMA_ARG_CACHE_RAM"},
    known_argument{
        "cache-idle-slots", "--cache-idle-slots", read, none, "LLAMA_ARG_CACHE_IDLE_SLOTS",
        "--no-cache-idle-slots"},

    // Which model.
    known_argument{"model", "-m --model", model, one, "LLAMA_ARG_MODEL"},
    known_argument{"model-url", "-mu --model-url", model, one, "LLAMA_ARG_MODEL_URL"},
    known_argument{"docker-repo", "-dr --docker-repo", model, one, "LLAMA_ARG_DOCKER_REPO"},
    known_argument{"hf-repo", "-hf -hfr --hf-repo", model, one, "LLAMA_ARG_HF_REPO"},
    known_argument{"hf-file", "-hff --hf-file", model, one, "LLAMA_ARG_HF_FILE"},
    known_argument{
        .name = "preset",
        .spellings = "--embd-gemma-default --embd-bge-small-en-default --embd-e5-small-en-default "
                     "--embd-gte-small-default",
        .use = preset,
        .port = "8011"},
    known_argument{
        .name = "preset",
        .spellings = "--fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default "
                     "--fim-qwen-7b-spec --fim-qwen-14b-spec --fim-qwen-30b-default",
        .use = preset,
        .port = "8012"},
    known_argument{
        .name = "preset",
        .spellings = "--gpt-oss-20b-default --gpt-oss-120b-default",
        .use = preset,
        .port = "8013"},
    known_argument{
        .name = "preset",
        .spellings = "--vision-gemma-4b-default --vision-gemma-12b-default",
        .use = preset,
        .port = "8014"},

    // What prints and exits.
    known_argument{"help", "-h --help --usage", prints},
    known_argument{"version", "--version", prints},
    known_argument{"cache-list", "-cl --cache-list", prints},
    known_argument{"list-devices", "--list-devices", prints},
    known_argument{"completion-bash", "--completion-bash", prints},

    // What changes the meaning of a saved slot.
    known_argument{
        .name = "cache-type-k",
        .spellings = "-ctk --cache-type-k",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_CACHE_TYPE_K",
        .default_value = "f16"},
    known_argument{
        .name = "cache-type-v",
        .spellings = "-ctv --cache-type-v",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_CACHE_TYPE_V",
        .default_value = "f16"},
    known_argument{
        .name = "flash-attn",
        .spellings = "-fa --flash-attn",
        .use = state,
        .values = choice_or_none,
        .environment = "LLAMA_ARG_FLASH_ATTN",
        .default_value = "auto",
        .normalise = on_off_auto},
    known_argument{
        .name = "swa-full",
        .spellings = "--swa-full",
        .use = state,
        .environment = "LLAMA_ARG_SWA_FULL",
        .default_value = "0"},
    known_argument{
        .name = "split-mode",
        .spellings = "-sm --split-mode",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_SPLIT_MODE",
        .default_value = "layer"},
    known_argument{"rope-scaling", "--rope-scaling", state, one, "LLAMA_ARG_ROPE_SCALING_TYPE"},
    known_argument{
        .name = "rope-freq-scale",
        .spellings = "--rope-scale",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_ROPE_SCALE",
        .normalise = reciprocal},
    known_argument{
        .name = "rope-freq-scale",
        .spellings = "--rope-freq-scale",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_ROPE_FREQ_SCALE",
        .normalise = same_number},
    known_argument{
        .name = "rope-freq-base",
        .spellings = "--rope-freq-base",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_ROPE_FREQ_BASE",
        .normalise = same_number},
    known_argument{
        .name = "yarn-orig-ctx",
        .spellings = "--yarn-orig-ctx",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_YARN_ORIG_CTX",
        .default_value = "0",
        .normalise = same_number},
    known_argument{
        .name = "yarn-ext-factor",
        .spellings = "--yarn-ext-factor",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_YARN_EXT_FACTOR",
        .default_value = "-1",
        .normalise = same_number},
    known_argument{
        .name = "yarn-attn-factor",
        .spellings = "--yarn-attn-factor",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_YARN_ATTN_FACTOR",
        .normalise = same_number},
    known_argument{
        .name = "yarn-beta-slow",
        .spellings = "--yarn-beta-slow",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_YARN_BETA_SLOW",
        .normalise = same_number},
    known_argument{
        .name = "yarn-beta-fast",
        .spellings = "--yarn-beta-fast",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_YARN_BETA_FAST",
        .normalise = same_number},
    known_argument{
        .name = "override-kv",
        .spellings = "--override-kv",
        .use = state,
        .values = one,
        .accumulates = true},
    known_argument{
        .name = "lora",
        .spellings = "--lora",
        .use = state,
        .values = one,
        .accumulates = true,
        .files = named_files::list},
    known_argument{
        .name = "lora-scaled",
        .spellings = "--lora-scaled",
        .use = state,
        .values = file_and_scale,
        .accumulates = true,
        .files = named_files::scaled_list},
    known_argument{"lora-init-without-apply", "--lora-init-without-apply", state},
    known_argument{
        .name = "control-vector",
        .spellings = "--control-vector",
        .use = state,
        .values = one,
        .accumulates = true,
        .files = named_files::list},
    known_argument{
        .name = "control-vector-scaled",
        .spellings = "--control-vector-scaled",
        .use = state,
        .values = file_and_scale,
        .accumulates = true,
        .files = named_files::scaled_list},
    known_argument{"control-vector-layer-range", "--control-vector-layer-range", state, two},
    known_argument{
        .name = "mmproj",
        .spellings = "-mm --mmproj",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_MMPROJ",
        .files = named_files::one},
    known_argument{"mmproj-url", "-mmu --mmproj-url", state, one, "LLAMA_ARG_MMPROJ_URL"},
    known_argument{
        .name = "mmproj-auto",
        .spellings = "--mmproj-auto",
        .use = state,
        .environment = "LLAMA_ARG_MMPROJ_AUTO",
        .negations = "--no-mmproj --no-mmproj-auto",
        .default_value = "1"},
    known_argument{
        "image-min-tokens", "--image-min-tokens", state, one, "LLAMA_ARG_IMAGE_MIN_TOKENS"},
    known_argument{
        "image-max-tokens", "--image-max-tokens", state, one, "LLAMA_ARG_IMAGE_MAX_TOKENS"},
    known_argument{
        .name = "spec-draft-model",
        .spellings = "--spec-draft-model -md --model-draft",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_SPEC_DRAFT_MODEL",
        .files = named_files::one},
    // As older builds call it.
    known_argument{
        .name = "spec-draft-model",
        .spellings = "",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_MODEL_DRAFT",
        .files = named_files::one},
    known_argument{
        "spec-draft-hf", "--spec-draft-hf -hfd -hfrd --hf-repo-draft", state, one,
        "LLAMA_ARG_SPEC_DRAFT_HF_REPO"},
    known_argument{
        .name = "spec-type",
        .spellings = "--spec-type",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_SPEC_TYPE",
        .default_value = "none"},
    known_argument{"spec-default", "--spec-default", state},
    known_argument{
        .name = "spec-draft-type-k",
        .spellings = "--spec-draft-type-k -ctkd --cache-type-k-draft",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K",
        .default_value = "f16"},
    known_argument{
        .name = "spec-draft-type-v",
        .spellings = "--spec-draft-type-v -ctvd --cache-type-v-draft",
        .use = state,
        .values = one,
        .environment = "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V",
        .default_value = "f16"},
    // Only in the environment: keeps quantised caches from being rotated before they are stored.
    known_argument{
        .name = "attn-rot-disable",
        .spellings = "",
        .use = state,
        .values = one,
        .environment = "LLAMA_ATTN_ROT_DISABLE",
        .default_value = "0"},
};

bool contains_word(std::string_view words, std::string_view wanted) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (words.substr(0, end) == wanted) {
            return true;
        }
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

} // namespace

std::span<const known_argument> known_arguments() {
    return table;
}

std::optional<spelled_argument> find_argument(std::string_view as_given) {
    std::string spelling(as_given);
    if (spelling.starts_with("--")) {
        std::replace(spelling.begin(), spelling.end(), '_', '-');
    }
    if (!spelling.starts_with('-')) {
        return std::nullopt;
    }
    for (const known_argument& argument : table) {
        if (contains_word(argument.spellings, spelling)) {
            return spelled_argument{&argument, false};
        }
        if (contains_word(argument.negations, spelling)) {
            return spelled_argument{&argument, true};
        }
    }
    return std::nullopt;
}

std::size_t count_values(const known_argument& argument, std::span<const std::string> following) {
    switch (argument.values) {
    case none:
        return 0;
    case one:
        return 1;
    case two:
        return 2;
    case choice_or_none: {
        if (following.empty()) {
            return 0;
        }
        const std::string& next = following[0];
        return is_truthy(next) || is_falsy(next) || is_auto(next) ? 1 : 0;
    }
    case file_and_scale: {
        const bool apart = following.size() >= 2 && following[0].find(':') == std::string::npos &&
                           read_number(following[1]);
        return apart ? 2 : 1;
    }
    }
    return 0;
}

std::string same_number(std::string_view value) {
    const std::optional<float> number = read_number(value);
    return number ? fmt::format("{}", *number) : std::string(value);
}

bool is_truthy(std::string_view value) {
    return is_one_of(value, {"on", "enabled", "true", "1"});
}

std::string negated_environment_name(std::string_view environment) {
    constexpr std::string_view prefix = "LLAMA_ARG_";
    return std::string(prefix) + "NO_" + std::string(environment.substr(prefix.size()));
}

} // namespace hibernate::llama

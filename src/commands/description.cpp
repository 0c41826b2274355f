#include "llama_hibernate/commands/description.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/commands/listing.hpp"
#include "llama_hibernate/llama/gguf.hpp"
#include "llama_hibernate/llama/model_identity.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/llama/vocabulary.hpp"

namespace hibernate::commands {

namespace fs = std::filesystem;
using llama::token;

namespace {

constexpr std::size_t shown_tokens = 32; ///< of either end
constexpr std::size_t shown_ids = 8;     ///< the same, where there are no words

struct words {
    llama::token_texts texts;
    std::string problem; ///< why there are none
};

words look_up(disk& disk, const store::manifest& saved, const std::set<token>& wanted) {
    if (saved.model_path.empty()) {
        return {{}, "where its model is was not noted"};
    }
    const auto path = saved.model_path;
    const auto identity = llama::identify_model(disk, saved.model_path);
    if (!identity) {
        return {{}, fmt::format("{}: {}", path, identity.error().message())};
    }
    const auto model = saved.signature.parts.find("model");
    if (model == saved.signature.parts.end() || model->second != *identity) {
        return {{}, fmt::format("{} is another model now", path)};
    }
    const auto first_shard = llama::shards_of(saved.model_path).front();
    auto reading = llama::read_token_texts(disk, first_shard, wanted);
    if (!reading) {
        return {{}, fmt::format("{}: {}", path, reading.error().message())};
    }
    if (!reading->texts) {
        return {{}, fmt::format("{}: {}", path, reading->problem)};
    }
    return {std::move(*reading->texts), {}};
}

std::optional<llama::context_memory> memory_of(disk& disk, const store::manifest& saved) {
    if (saved.model_path.empty()) {
        return std::nullopt;
    }
    const auto file = llama::follow_links(llama::shards_of(saved.model_path).front());
    const auto reading = llama::read_gguf(disk, file);
    return reading && reading->header ? std::optional(llama::context_memory_of(*reading->header))
                                      : std::nullopt;
}

std::string join_ids(std::span<const token> tokens) {
    return fmt::format("{}", fmt::join(tokens, " "));
}

void read_words(
    disk& disk,
    const store::manifest& saved,
    const std::vector<token>& tokens,
    snapshot_content& content) {
    const std::span all(tokens);
    const auto ends = [&all](std::size_t shown) {
        const bool whole = all.size() <= 2 * shown;
        return std::pair(whole ? all : all.first(shown), whole ? all.first(0) : all.last(shown));
    };
    const auto [first, last] = ends(shown_tokens);
    std::set<token> wanted(first.begin(), first.end());
    wanted.insert(last.begin(), last.end());
    auto found = look_up(disk, saved, wanted);
    if (found.problem.empty()) {
        content.first_words = printable_text(llama::join_texts(first, found.texts));
        content.last_words = printable_text(llama::join_texts(last, found.texts));
        return;
    }
    content.no_words = std::move(found.problem);
    const auto [first_ids, last_ids] = ends(shown_ids);
    content.first_words = join_ids(first_ids);
    content.last_words = join_ids(last_ids);
}

class lines {
public:
    void add(std::string_view name, std::string_view value) {
        text_ += fmt::format("  {:<12}{}\n", name, printable_text(value));
    }
    std::string take(const std::string& title) { return title + "\n" + text_; }

private:
    std::string text_;
};

std::string when(store::wall_time then, store::wall_time now) {
    return fmt::format("{} ({} ago)", store::format_time(then), format_age(then, now));
}

void add_manifest(lines& to, const store::manifest& saved, store::wall_time now) {
    to.add(
        "model", saved.model_path.empty()
                     ? saved.model_name
                     : fmt::format("{} ({})", saved.model_name, saved.model_path));
    to.add("tokens", std::to_string(saved.tokens));
    to.add(
        "saved",
        fmt::format("{}, from slot {}: {}", when(saved.created, now), saved.slot, saved.reason));
    to.add("last used", when(saved.last_used, now));
    auto restored = saved.uses == 1 ? "once" : fmt::format("{} times", saved.uses);
    if (saved.reused != 0) {
        restored += fmt::format(", reused {} times", saved.reused);
    }
    if (saved.missed != 0) {
        restored += fmt::format(", the last {} in vain", saved.missed);
    }
    to.add("restored", restored);
    to.add(
        "checksum",
        saved.checksum.empty() ? "not computed yet" : fmt::format("XXH3-128 {}", saved.checksum));
    to.add("on disk", saved.synced ? "synced" : "not synced yet");
    if (saved.crashes != 0) {
        to.add("crashes", fmt::format("{} of llama-server with it", saved.crashes));
    }
    if (!saved.boundary_of.empty()) {
        to.add("prompt of", fmt::format("{}, without its last reply", saved.boundary_of));
    }
    if (saved.went_on == store::continuation::verbatim) {
        to.add("went on", "with every reply as it was");
    } else if (saved.went_on == store::continuation::changed) {
        to.add("went on", "with a changed reply");
    }
    if (!saved.supersedes.empty()) {
        to.add("supersedes", fmt::format("{}", fmt::join(saved.supersedes, " ")));
    }
}

/// llama-server's rule, as it was measured.
std::string who_reuses(llama::context_memory memory, const llama::state_trailers& trailers) {
    if (memory == llama::context_memory::everything) {
        return "any prompt that shares the beginning, as far as it does";
    }
    const auto kind = llama::to_string(memory);
    if (trailers.checkpoints.empty()) {
        return fmt::format("only prompts that extend all of it (a {} model, no checkpoints)", kind);
    }
    std::vector<std::int64_t> at;
    for (const auto& checkpoint : trailers.checkpoints) {
        at.push_back(checkpoint.tokens);
    }
    return fmt::format(
        "prompts that extend it, or share the beginning up to a checkpoint (a {} model, at {} "
        "tokens)",
        kind, fmt::join(at, ", "));
}

void add_content(lines& to, const snapshot_content& content) {
    if (!content.problem.empty()) {
        to.add("content", content.problem);
        return;
    }
    auto format = fmt::format("state file version {}", content.state_version);
    if (content.trailers) {
        const auto& trailers = *content.trailers;
        std::uint64_t bytes = 0;
        for (const auto& checkpoint : trailers.checkpoints) {
            bytes += checkpoint.bytes;
        }
        format += fmt::format(
            ", {} of KV state, {} checkpoints ({})", format_bytes(trailers.state_end),
            trailers.checkpoints.size(), format_bytes(bytes));
        if (trailers.draft) {
            format += fmt::format(", a draft model's ({})", format_bytes(trailers.draft_bytes));
        }
    }
    to.add("content", format);
    if (content.media_tokens != 0) {
        to.add("media", fmt::format("{} of its tokens", content.media_tokens));
    }
    if (content.memory && content.trailers) {
        to.add("reused by", who_reuses(*content.memory, *content.trailers));
    }
    if (!content.no_words.empty()) {
        to.add("no words", content.no_words);
    }
    const char* kind = content.no_words.empty() ? "text" : "tokens";
    if (content.last_words.empty()) {
        to.add(kind, content.first_words);
    } else {
        to.add(kind, content.first_words + " ...");
        to.add("", "... " + content.last_words);
    }
}

} // namespace

snapshot_content read_content(disk& disk, const fs::path& root, const store::stored_item& item) {
    snapshot_content content;
    const auto file = root / item.directory / fmt::format("{}.kv", item.id);
    const auto reading = llama::read_state_file_head(disk, file);
    if (!reading.head) {
        content.problem = reading.problem;
        return content;
    }
    content.state_version = reading.head->version;
    const auto& tokens = reading.head->tokens;
    content.media_tokens = static_cast<std::uint64_t>(
        std::count_if(tokens.begin(), tokens.end(), [](token one) { return one < 0; }));
    content.trailers = llama::read_state_trailers(disk, file, *reading.head).trailers;
    if (item.manifest) {
        content.memory = memory_of(disk, *item.manifest);
        read_words(disk, *item.manifest, tokens, content);
    } else {
        content.no_words = "its manifest is unusable";
    }
    return content;
}

std::string describe_snapshot(
    const fs::path& root,
    const store::stored_item& item,
    const std::string& state,
    const snapshot_content& content,
    store::wall_time now) {
    lines to;
    to.add("state", state);
    to.add("directory", (root / item.directory).string());
    to.add("size", fmt::format("{} ({} bytes)", format_bytes(item.bytes), item.bytes));
    if (item.manifest) {
        add_manifest(to, *item.manifest, now);
    }
    add_content(to, content);
    if (item.manifest) {
        const char* name = "made for";
        for (const auto& [part, value] : item.manifest->signature.parts) {
            to.add(std::exchange(name, ""), fmt::format("{} {}", part, value));
        }
    }
    return to.take("snapshot " + item.id);
}

} // namespace hibernate::commands

#include "succession.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "llama_hibernate/llama/state_media.hpp"
#include "llama_hibernate/store/lineage.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// Whether the new snapshot holds all of an old one. The manifest of that one tells: if its state
/// file is damaged or gone it is of no use, and its removal costs nothing. Only where an earlier
/// version wrote the manifest, the tokens have to be read.
bool holds_all_of(
    disk& disk,
    const fs::path& directory,
    const llama::state_file_head& made,
    const token_chain& chain,
    const manifest& old) {
    if (!old.quarantine.empty()) {
        return false;
    }
    if (!old.tokens_hash.empty()) {
        return chain.continues(old.tokens, old.tokens_hash);
    }
    const auto whole = examine_snapshot(disk, directory, old);
    return whole.manifest && llama::continues(made, whole.head);
}

/// The whole of it counts more than its prompt, which is in that, too.
void note_continuation(const manifest& old, manifest& made) {
    if (made.prompt_tokens <= old.tokens) {
        return; // the same prompt again
    }
    if (old.boundary_of.empty()) {
        made.went_on = continuation::verbatim;
    } else if (made.went_on == continuation::unknown) {
        made.went_on = continuation::changed;
    }
}

/// How many tokens at the end of an earlier prompt the new snapshot has not, if that is few.
std::optional<std::uint64_t> gap_after(
    disk& disk,
    const fs::path& directory,
    const llama::state_file_head& made,
    const manifest& earlier) {
    constexpr std::uint64_t largest_gap = 16;
    const auto old =
        llama::read_state_file_head(disk, file_of(directory, earlier.id, state_extension));
    if (!old.head || old.head->tokens.size() < earlier.prompt_tokens) {
        return std::nullopt;
    }
    const auto prompt = std::span(old.head->tokens).first(earlier.prompt_tokens);
    const auto apart =
        std::mismatch(prompt.begin(), prompt.end(), made.tokens.begin(), made.tokens.end());
    const auto shared = static_cast<std::size_t>(apart.first - prompt.begin());
    if (llama::media_of_first(*old.head, shared) != llama::media_of_first(made, shared)) {
        return std::nullopt; // the same words about another image
    }
    const auto gap = static_cast<std::uint64_t>(prompt.end() - apart.first);
    return gap <= largest_gap && gap < prompt.size() - gap ? std::optional(gap) : std::nullopt;
}

/// Learns how the conversation went on if no earlier snapshot of it is a prefix of this one, but a
/// prompt is, or all but its end, which a template may not repeat: the client has changed its last
/// reply. Such a snapshot may also be another branch, so it stays; but where a prompt was saved
/// apart and is superseded, what was saved whole with it is, too.
void learn_continuation(
    disk& disk,
    const fs::path& directory,
    const llama::state_file_head& head,
    std::vector<manifest> earlier,
    publication& result) {
    constexpr std::size_t enough = 8; // each is read from disk
    auto& made = result.published->manifest;
    std::set<std::string> have_prompt; ///< saved apart
    for (const auto& one : earlier) {
        have_prompt.insert(one.boundary_of);
    }
    const auto superseded = [&made](const std::string& id) {
        return std::find(made.supersedes.begin(), made.supersedes.end(), id) !=
               made.supersedes.end();
    };
    std::vector<std::string> prompts_of; ///< those whose prompt is superseded
    for (const auto& one : earlier) {
        if (superseded(one.id) && !one.boundary_of.empty()) {
            prompts_of.push_back(one.boundary_of);
        }
    }
    std::erase_if(earlier, [&](const manifest& one) {
        return superseded(one.id) || have_prompt.contains(one.id) || one.prompt_tokens == 0 ||
               one.prompt_tokens >= made.prompt_tokens;
    });
    std::sort(earlier.begin(), earlier.end(), [](const manifest& a, const manifest& b) {
        return b.created < a.created;
    });
    earlier.resize(std::min(earlier.size(), enough));
    std::optional<std::uint64_t> least;
    for (const auto& one : earlier) {
        const auto gap = gap_after(disk, directory, head, one);
        least = gap && (!least || *gap < *least) ? gap : least;
    }
    if (least && made.went_on == continuation::unknown) {
        made.went_on = continuation::changed;
        made.boundary_gap = *least;
    }
    for (const auto& id : prompts_of) {
        if (made.went_on == continuation::changed && !superseded(id)) {
            made.supersedes.push_back(id);
        }
    }
}

} // namespace

void succeed(
    disk& disk,
    const fs::path& directory,
    const llama::state_file_head& head,
    const name_set& names,
    const staged_save& save,
    publication& result) {
    auto& made = result.published->manifest;
    const token_chain chain(head);
    made.tokens_hash = chain.hash();
    std::vector<manifest> earlier;
    for (const auto& id : committed_ids(names)) {
        const auto old = load_manifest(disk, directory, id);
        if (old.value) { // the clock may have been set back, and this one is the latest
            made.created = std::max(made.created, old.value->created + 1ms);
            made.last_used = std::max(made.last_used, old.value->last_used + 1ms);
        }
        if (!old.value || !compatible(signature_of(*old.value), save.signature)) {
            continue;
        }
        earlier.push_back(*old.value);
        if (old.value->tokens <= save.tokens &&
            holds_all_of(disk, directory, head, chain, *old.value)) {
            made.supersedes.push_back(id);
            note_continuation(*old.value, made);
        }
    }
    if (save.boundary_of.empty() && save.prompt_tokens != 0) {
        learn_continuation(disk, directory, head, std::move(earlier), result);
    }
}

/// What was noted of a snapshot passes on to the one that supersedes it.
void inherit(const manifest& old, const staged_save& save, publication& result) {
    auto& made = result.published->manifest;
    made.pinned = made.pinned || old.pinned;
    made.uses = std::max(made.uses, old.uses);
    made.reused = std::max(made.reused, old.reused);
    if (made.boundary_gap == 0 && made.went_on != continuation::unknown) {
        made.boundary_gap = old.boundary_gap;
    }
    made.cut_cost = std::max(made.cut_cost, old.cut_cost);
    auto missed = old.missed;
    if (const auto reused = save.was_reused ? save.was_reused(old) : std::nullopt) {
        (*reused ? result.reused_ids : result.missed_ids).push_back(old.id);
        missed = *reused ? 0 : missed + 1;
    }
    if (!made.boundary_of.empty()) {
        return; // the save tells it
    }
    auto& missed_so_far = old.boundary_of.empty() ? made.missed : result.boundary_missed;
    missed_so_far = std::max(missed_so_far, missed);
}

} // namespace hibernate::store

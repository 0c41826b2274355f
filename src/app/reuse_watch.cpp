#include "llama_hibernate/app/reuse_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/keeper/restore_plan.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/llama/state_trailers.hpp"

namespace hibernate::app {

namespace {

bool lacks_checkpoints(disk& disk, const std::filesystem::path& file) {
    const auto reading = llama::read_state_file_head(disk, file);
    if (!reading.head) {
        return false;
    }
    const auto found = llama::read_state_trailers(disk, file, *reading.head);
    return found.trailers && found.trailers->checkpoints.empty();
}

} // namespace

void reuse_watch::begin_with(
    const std::vector<std::string>& restored_ids, const std::vector<std::string>& in_slots) {
    awaited_ = {restored_ids.begin(), restored_ids.end()};
    in_slots_ = {in_slots.begin(), in_slots.end()};
}

store::reuse_judge reuse_watch::judge(keeper::slot_turns turns) const {
    return [turns = std::move(turns), awaited = awaited_,
            in_slots = in_slots_](const store::manifest& old) -> std::optional<bool> {
        if (!awaited.contains(old.id)) {
            return std::nullopt;
        }
        const auto found = keeper::judge_restored(turns, store::useful_tokens(old));
        if (found == keeper::reuse::missed && in_slots.contains(old.id)) {
            return false;
        }
        return found == keeper::reuse::reused ? std::optional(true) : std::nullopt;
    };
}

slot_saver::slot_history reuse_watch::history_of(keeper::slot_turns turns) const {
    slot_saver::slot_history history;
    if (turns.complete && !turns.turns.empty()) {
        const auto& last = turns.turns.back().receipt;
        history.prompt_tokens = last.reused + last.computed;
    }
    history.was_reused = judge(std::move(turns));
    return history;
}

void reuse_watch::settle(const std::vector<std::string>& superseded_ids) {
    for (const auto& id : superseded_ids) {
        awaited_.erase(id);
    }
}

bool warn_if_never_reused(
    disk& disk,
    const std::filesystem::path& directory,
    const std::vector<store::snapshot>& snapshots,
    llama::context_memory memory) {
    if (!keeper::are_never_reused(snapshots)) {
        return false;
    }
    const auto newest =
        std::max_element(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
            return a.manifest.created < b.manifest.created;
        });
    const bool limited = memory != llama::context_memory::everything &&
                         lacks_checkpoints(disk, directory / newest->file_name);
    log::error(
        "restored conversations of this model have never been reused, but were computed again: {}",
        limited
            ? fmt::format(
                  "it is a {} model, and the state files of this llama-server hold no context "
                  "checkpoints; a newer llama-server writes them",
                  llama::to_string(memory))
            : "the cause is not known; does every request begin with the same tokens as before?");
    return true;
}

} // namespace hibernate::app

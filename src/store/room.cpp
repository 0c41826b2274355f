#include "llama_hibernate/store/room.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/llama/types.hpp"
#include "llama_hibernate/store/size_estimate.hpp"
#include "snapshot_files.hpp"
#include "victims.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;

namespace {

/// What a save takes at the least: a state file has its token list in it.
std::uint64_t least_bytes(std::optional<std::uint64_t> tokens) {
    return sizeof(llama::token) * tokens.value_or(1);
}

} // namespace

room_keeper::room_keeper(disk& disk, fs::path root, std::string directory, disk_bound bound)
    : disk_(disk), root_(std::move(root)), directory_(std::move(directory)), bound_(bound) {}

void room_keeper::tidy(const present& now) {
    auto stored = take_inventory(disk_, root_);
    if (const auto foreign = amount_of(stored, stored_item::kind::foreign); foreign.count != 0) {
        log::info(
            "not ours: {} ({}) in {}; that counts towards its bound of {}",
            format_count(foreign.count, "file or folder", "files and folders"),
            format_bytes(foreign.bytes), root_.string(), format_bytes(bound_.max_disk));
    }
    auto question = question_for(now);
    if (make_room(stored, question)) {
        return;
    }
    question.in_use.clear();
    if (!make_room(stored, question)) {
        log::warning("the store stays over its bound: {}", describe(stored));
    }
}

room_keeper::answer
room_keeper::before_save(const present& now, std::optional<std::uint64_t> tokens) {
    auto stored = take_inventory(disk_, root_);
    answer result;
    result.estimate = estimate_size(stored, directory_, now.signature, tokens);
    auto question = question_for(now);
    question.saving = true;
    question.needed = result.estimate.value_or(least_bytes(tokens));
    if (!result.estimate && now.bytes_per_token && tokens) {
        question.needed = *now.bytes_per_token * *tokens;
        result.enough = make_room(stored, question);
        question.needed = least_bytes(tokens); // it was no measure: no reason not to save
    }
    result.enough = result.enough || make_room(stored, question);
    if (!result.enough) {
        result.problem = fmt::format(
            "there is no room for {}: {}; {}",
            result.estimate ? fmt::format("the {} that it may take", format_bytes(*result.estimate))
                            : "more",
            describe(stored), advise(stored, question.needed));
    }
    return result;
}

room_keeper::answer room_keeper::after_save(const present& now, const std::string& id) {
    answer result;
    auto question = question_for(now);
    question.saving = true;
    question.in_use.insert(id);

    inventory sizes;
    sizes.bytes = measure(disk_, root_);
    if (const auto free = disk_.free_space(root_)) {
        sizes.free_bytes = *free;
    }
    result.enough = has_room(sizes, question);
    if (result.enough) {
        return result;
    }
    auto stored = take_inventory(disk_, root_);
    result.enough = make_room(stored, question);
    if (!result.enough) {
        result.problem = fmt::format(
            "it was larger than expected and is removed again: {}; {}", describe(stored),
            advise(stored, question.needed));
        if (const auto failed = remove_snapshot(disk_, root_ / directory_, id)) {
            log::error("snapshot {} could not be removed: {}", id, failed.message());
        }
    }
    return result;
}

std::string room_keeper::find_trouble(std::optional<std::uint64_t> estimate) {
    const auto path = root_ / directory_;
    if (const auto failed = disk_.check_writable(path)) {
        return fmt::format("{}: {}", path.string(), failed.message());
    }
    constexpr std::uint64_t hardly_any = std::uint64_t{1024} * 1024;
    const auto free = disk_.free_space(path);
    if (free && *free < std::max(estimate.value_or(0), hardly_any)) {
        return fmt::format("{} are free on its disk", format_bytes(*free));
    }
    return {};
}

eviction_question room_keeper::question_for(const present& now) const {
    eviction_question question;
    question.bound = bound_;
    question.directory = directory_;
    question.signature = now.signature;
    question.in_use = now.in_use;
    return question;
}

bool room_keeper::make_room(inventory& stored, eviction_question& question) {
    if (has_room(stored, question)) {
        return true;
    }
    // What was seen without the locks may have been changed since by those who held them.
    const directory_locks locks(disk_, root_, stored, directory_);
    for (;;) {
        stored = take_inventory(disk_, root_);
        question.closed_directories.merge(locks.closed_directories(stored));
        question.missing_models = find_missing_models(disk_, stored);
        const auto plan = plan_eviction(stored, question);
        if (!plan.enough) {
            return false;
        }
        if (remove_victims(stored, plan, question)) {
            return true;
        }
    }
}

/// False if one could not be removed; its directory is closed then, so there is an end to it.
bool room_keeper::remove_victims(
    const inventory& stored, const eviction_plan& plan, eviction_question& question) {
    for (const auto& [index, reason, kind] : plan.victims) {
        const auto& item = stored.items[index];
        const auto what = describe_item(root_, item);
        if (const auto failed = remove_item(disk_, root_, item)) {
            log::warning("cannot remove {} to make room: {}", what, failed.message());
            question.closed_directories.insert(item.directory);
            return false;
        }
        log::write(
            log::level::info, fmt::format("removed {} to make room: {}", what, reason),
            {{"snapshot", item.id}, {"bytes", item.bytes}});
        if (on_removal_) {
            on_removal_(kind);
        }
    }
    return true;
}

/// What its owner can do about it.
std::string room_keeper::advise(const inventory& stored, std::uint64_t needed) const {
    return stored.bytes + needed > bound_.max_disk
               ? "raise --hibernate-max-disk, or remove some with `llama-hibernate store rm`"
               : "free some of that disk, or lower --hibernate-min-free";
}

std::string room_keeper::describe(const inventory& stored) const {
    auto text = fmt::format(
        "{} holds {} of at most {}", root_.string(), format_bytes(stored.bytes),
        format_bytes(bound_.max_disk));
    if (const auto foreign = amount_of(stored, stored_item::kind::foreign); foreign.bytes != 0) {
        text += fmt::format(" ({} of it not ours)", format_bytes(foreign.bytes));
    }
    if (stored.free_bytes) {
        text += fmt::format(
            ", and {} are free on its disk, of which {} have to stay",
            format_bytes(*stored.free_bytes), format_bytes(bound_.min_free));
    }
    return text;
}

} // namespace hibernate::store

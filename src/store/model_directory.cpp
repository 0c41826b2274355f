#include "llama_hibernate/store/model_directory.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "llama_hibernate/base/log.hpp"
#include "snapshot_files.hpp"
#include "succession.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

error_code make_error(boost::system::errc::errc_t what) {
    return boost::system::errc::make_error_code(what);
}

bool is_leftover(const std::string& name, const name_set& names) {
    const auto lacks = [&](std::string_view extension, std::string_view twin) {
        return is_snapshot_name(name, extension) &&
               !names.contains(name.substr(0, name.size() - extension.size()) + std::string(twin));
    };
    return is_staging_name(name) || is_snapshot_name(name, unfinished_extension) ||
           lacks(state_extension, manifest_extension) || lacks(manifest_extension, state_extension);
}

std::string new_id(const name_set& taken) {
    std::random_device random;
    std::uniform_int_distribution<std::uint64_t> digits;
    for (;;) {
        auto id = fmt::format("{:016x}", digits(random));
        const auto first = taken.lower_bound(id);
        if (first == taken.end() || !first->starts_with(id)) {
            return id;
        }
    }
}

/// The head of what the child has written, if it is what the child says it is.
llama::state_file_reading check_staged(disk& disk, const fs::path& file, const staged_save& save) {
    if (save.tokens == 0) {
        return {{}, "the slot was empty"};
    }
    const auto size = disk.size(file);
    if (!size) {
        return {{}, fmt::format("the saved file cannot be read: {}", size.error().message())};
    }
    if (*size != save.bytes) {
        return {
            {}, fmt::format("the saved file has {} bytes, but {} were written", *size, save.bytes)};
    }
    auto reading = llama::read_state_file_head(disk, file);
    if (!reading.head) {
        return {{}, fmt::format("the saved file is damaged: {}", reading.problem)};
    }
    if (reading.head->tokens.size() != save.tokens) {
        return {
            {},
            fmt::format(
                "the saved file has {} tokens, but {} were saved", reading.head->tokens.size(),
                save.tokens)};
    }
    return reading;
}

/// The commit. What passes on is taken as it is at that moment: a pin may come while the child
/// saves.
error_code
add_manifest(disk& disk, const fs::path& directory, const staged_save& save, publication& result) {
    const auto lock = lock_for_edit(disk, directory);
    if (!lock) {
        return lock.error();
    }
    auto& made = result.published->manifest;
    for (const auto& id : made.supersedes) {
        if (const auto old = load_manifest(disk, directory, id); old.value) {
            inherit(*old.value, save, result);
        }
    }
    made.reused += result.reused_ids.empty() ? 0 : 1;
    const auto when = save.durable ? when_synced::now : when_synced::later;
    return disk.replace(
        file_of(directory, made.id, manifest_extension), write_manifest(made), when);
}

/// Everything up to the commit and no more; a clause on the step that failed, if one did.
std::string
commit(disk& disk, const fs::path& directory, const staged_save& save, publication& result) {
    const auto staged = directory / save.staging_name;
    auto& made = result.published->manifest;
    if (const auto failed = disk.make_private(staged)) {
        return fmt::format("the saved file cannot be made private: {}", failed.message());
    }
    if (save.durable) {
        if (const auto failed = disk.sync_file(staged)) {
            return fmt::format("the saved file cannot be synced: {}", failed.message());
        }
        const auto checksum = disk.checksum(staged);
        if (!checksum) {
            return fmt::format("the saved file cannot be read: {}", checksum.error().message());
        }
        made.checksum = *checksum;
        made.synced = true;
    }
    const auto file = file_of(directory, made.id, state_extension);
    if (const auto failed = disk.rename(staged, file)) {
        return fmt::format("the saved file cannot be renamed: {}", failed.message());
    }
    if (const auto failed = add_manifest(disk, directory, save, result)) {
        return fmt::format("the manifest cannot be written: {}", failed.message());
    }
    if (save.durable) {
        if (const auto failed = disk.sync_directory(directory)) {
            return fmt::format("the directory cannot be synced: {}", failed.message());
        }
    }
    return {};
}

} // namespace

model_directory::model_directory(disk& disk, fs::path path, std::unique_ptr<file_lock> lock)
    : disk_(disk), path_(std::move(path)), lock_(std::move(lock)),
      // Not from zero: in containers a new daemon has the process id of the one before, whose
      // child may still be writing.
      next_staging_(std::random_device{}()) {}

io_result<std::unique_ptr<model_directory>>
model_directory::open(disk& disk, const fs::path& root, const std::string& name) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
        return make_error(boost::system::errc::invalid_argument);
    }
    // Not the root: one that was there before may be shared, and its modes are its owner's choice.
    const auto path = root / name;
    if (const auto failed = disk.create_private_directory(path)) {
        return failed;
    }
    auto lock = disk.try_lock(path / lock_name);
    if (!lock) {
        return lock.error();
    }
    if (*lock == nullptr) {
        return make_error(boost::system::errc::resource_unavailable_try_again);
    }
    if (const auto size = disk.size(path / lock_name); !size) {
        return size.error(); // something else that bears the name
    }
    if (const auto failed = disk.check_writable(path)) {
        return failed;
    }
    std::unique_ptr<model_directory> opened(new model_directory(disk, path, std::move(*lock)));
    if (const auto failed = opened->clear_leftovers()) {
        return failed;
    }
    return opened;
}

error_code model_directory::recreate_if_removed() {
    if (disk_.size(path_ / lock_name)) {
        return {};
    }
    if (const auto failed = disk_.create_private_directory(path_)) {
        return failed;
    }
    auto lock = disk_.try_lock(path_ / lock_name);
    if (!lock) {
        return lock.error();
    }
    if (*lock == nullptr) {
        return make_error(boost::system::errc::resource_unavailable_try_again);
    }
    lock_ = std::move(*lock);
    log::warning("{} had been removed; it was made anew", path_.string());
    return {};
}

error_code model_directory::clear_leftovers() {
    if (const auto failed = remove_leftovers()) {
        return failed;
    }
    finish_publications();
    return {};
}

error_code model_directory::remove_leftovers() {
    // A command may be writing a manifest right now.
    const auto lock = lock_for_edit(disk_, path_);
    if (!lock) {
        return lock.error();
    }
    const auto names = names_in(disk_, path_);
    if (!names) {
        return names.error();
    }
    for (const auto& name : *names) {
        if (!is_leftover(name, *names)) {
            continue;
        }
        if (const auto failed = disk_.remove(path_ / name)) {
            log::warning(
                "cannot remove the leftover {}: {}", (path_ / name).string(), failed.message());
        } else {
            log::info(
                "removed {}, the leftover of a save that was cut off", (path_ / name).string());
        }
    }
    return {};
}

void model_directory::finish_publications() {
    const auto names = names_in(disk_, path_);
    if (!names) {
        return;
    }
    for (const auto& id : committed_ids(*names)) {
        const auto saved = load_manifest(disk_, path_, id);
        if (!saved.value || !saved.value->synced) {
            continue;
        }
        auto left = saved.value->supersedes;
        std::erase_if(left, [&](const auto& old) {
            return old == id || !names->contains(fmt::format("{}{}", old, manifest_extension));
        });
        // Only a new snapshot that can be relied on is worth the old ones.
        if (left.empty() || !load_snapshot(disk_, path_, id).manifest) {
            continue;
        }
        // The kill may have come before the name of the new manifest was on the medium.
        if (const auto failed = disk_.sync_directory(path_)) {
            log::warning("cannot sync {}: {}", path_.string(), failed.message());
            continue;
        }
        for (const auto& old : left) {
            remove_superseded(old, id);
        }
    }
}

void model_directory::remove_superseded(const std::string& old, const std::string& by) {
    if (const auto failed = remove_snapshot(disk_, path_, old)) {
        log::warning("cannot remove the superseded snapshot {}: {}", old, failed.message());
    } else {
        log::debug("removed snapshot {}, which {} supersedes", old, by);
    }
}

std::vector<snapshot> model_directory::snapshots() {
    const auto names = names_in(disk_, path_);
    if (!names) {
        log::warning("cannot list {}: {}", path_.string(), names.error().message());
        return {};
    }
    std::vector<snapshot> found;
    for (const auto& id : committed_ids(*names)) {
        auto reading = load_snapshot(disk_, path_, id, read_extent::start);
        if (reading.quarantined || distrusted_.contains(id)) {
            continue;
        }
        if (reading.damaged) {
            quarantine(id, reading.problem);
        } else if (!reading.manifest) {
            leave_out(id, reading.problem);
        } else {
            found.push_back(
                {std::move(*reading.manifest), fmt::format("{}{}", id, state_extension)});
        }
    }
    // They wait for their successor to be synced.
    name_set superseded;
    for (const auto& one : found) {
        for (const auto& old : one.manifest.supersedes) {
            if (old != one.manifest.id) {
                superseded.insert(old);
            }
        }
    }
    std::erase_if(found, [&](const auto& one) { return superseded.contains(one.manifest.id); });
    return found;
}

error_code model_directory::create_staging(const std::string& staging_name) {
    if (!is_staging_name(staging_name)) {
        return make_error(boost::system::errc::invalid_argument);
    }
    return disk_.create_private_file(path_ / staging_name);
}

std::string model_directory::new_staging_name() {
    return fmt::format("staging-{}-{}{}", getpid(), next_staging_++, state_extension);
}

publication model_directory::publish(const staged_save& save, wall_time now) {
    const auto refuse = [](std::string problem) {
        publication nothing;
        nothing.problem = std::move(problem);
        return nothing;
    };
    if (!is_staging_name(save.staging_name)) {
        return refuse(fmt::format("\"{}\" is no staging name", save.staging_name));
    }
    const auto staged = path_ / save.staging_name;
    const auto checked = check_staged(disk_, staged, save);
    if (!checked.head) {
        discard_staging(save.staging_name);
        return refuse(checked.problem);
    }
    const auto names = names_in(disk_, path_);
    if (!names) {
        discard_staging(save.staging_name);
        return refuse(fmt::format("the directory cannot be listed: {}", names.error().message()));
    }

    publication result;
    auto& made = result.published.emplace().manifest;
    made.id = new_id(*names);
    made.signature = save.signature;
    made.model_name = save.model_name;
    made.model_path = save.model_path;
    made.tokens = save.tokens;
    made.bytes = save.bytes;
    made.save_time = save.time;
    made.state_version = checked.head->version;
    made.created = now;
    made.last_used = now;
    made.reason = save.reason;
    made.slot = save.slot;
    made.boot_id = boot_id();
    made.prompt_tokens = save.prompt_tokens;
    made.boundary_of = save.boundary_of;
    made.missed = save.missed;
    succeed(disk_, path_, *checked.head, *names, save, result);

    auto problem = commit(disk_, path_, save, result);
    if (!problem.empty()) {
        remove_snapshot(disk_, path_, made.id);
        discard_staging(save.staging_name);
        return refuse(std::move(problem));
    }
    result.superseded_ids = made.supersedes;
    if (save.durable) {
        for (const auto& old : made.supersedes) {
            remove_superseded(old, made.id);
        }
    }
    result.published->file_name = fmt::format("{}{}", made.id, state_extension);
    return result;
}

error_code model_directory::make_durable(const std::string& id) {
    // Whole, because what it supersedes goes then: data that the machine lost must not be synced
    // and called safe.
    const auto saved = load_snapshot(disk_, path_, id);
    if (!saved.manifest) {
        log::debug("snapshot {} cannot be made durable: {}", id, saved.problem);
        return make_error(boost::system::errc::no_such_file_or_directory);
    }
    const auto file = file_of(path_, id, state_extension);
    if (const auto failed = disk_.sync_file(file)) {
        return failed;
    }
    // Its name as well, before the manifest says that it is safe.
    if (const auto failed = disk_.sync_directory(path_)) {
        return failed;
    }
    const auto checksum = disk_.checksum(file);
    if (!checksum) {
        return checksum.error();
    }
    const auto say_so = [&checksum](manifest& changed) {
        changed.checksum = *checksum;
        changed.synced = true;
    };
    if (const auto failed = edit_manifest(disk_, path_, id, when_synced::now, say_so)) {
        return failed;
    }
    if (const auto failed = disk_.sync_directory(path_)) {
        return failed;
    }
    for (const auto& old : saved.manifest->supersedes) {
        remove_superseded(old, id);
    }
    return {};
}

error_code model_directory::note_restored(const std::string& id, wall_time now) {
    return edit_manifest(disk_, path_, id, when_synced::now, [now](manifest& changed) {
        ++changed.uses;
        changed.last_used = std::max(changed.last_used, now);
    });
}

error_code model_directory::note_cut(const std::string& id, std::uint64_t computed_tokens) {
    return edit_manifest(disk_, path_, id, when_synced::later, [=](manifest& changed) {
        changed.cut_cost = std::max(changed.cut_cost, computed_tokens);
    });
}

void model_directory::discard_staging(const std::string& staging_name) {
    if (!is_staging_name(staging_name)) {
        return;
    }
    if (const auto failed = disk_.remove(path_ / staging_name)) {
        log::warning("cannot remove {}: {}", (path_ / staging_name).string(), failed.message());
    }
}

} // namespace hibernate::store

#include "victims.hpp"

#include <system_error>

#include <fmt/core.h>

#include "llama_hibernate/base/size.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;
namespace errc = boost::system::errc;

namespace {

bool says_gone(const error_code& failure) {
    return failure == errc::no_such_file_or_directory || failure == errc::not_a_directory;
}

} // namespace

directory_locks::directory_locks(
    disk& disk, const fs::path& root, const inventory& stored, const std::string& own_directory)
    : own_directory_(own_directory) {
    for (const auto& item : stored.items) {
        const bool theirs = !item.directory.empty() && item.directory != own_directory_;
        if (!theirs || locks_.contains(item.directory)) {
            continue;
        }
        auto lock = disk.try_lock(root / item.directory / lock_name);
        if (lock && *lock) {
            locks_[item.directory] = std::move(*lock);
        }
    }
}

std::set<std::string> directory_locks::closed_directories(const inventory& stored) const {
    std::set<std::string> closed;
    for (const auto& item : stored.items) {
        if (item.directory != own_directory_ && !locks_.contains(item.directory)) {
            closed.insert(item.directory);
        }
    }
    return closed;
}

std::set<std::string> find_missing_models(disk& disk, const inventory& stored) {
    std::set<std::string> asked;
    std::set<std::string> missing;
    for (const auto& item : stored.items) {
        if (!item.manifest || item.manifest->model_path.empty() ||
            !asked.insert(item.manifest->model_path).second) {
            continue;
        }
        const auto& path = item.manifest->model_path;
        // A link that leads nowhere is as good as none: model caches are made of links.
        if (const auto version = disk.version(path); !version && says_gone(version.error())) {
            missing.insert(path);
        }
    }
    return missing;
}

error_code remove_item(disk& disk, const fs::path& root, const stored_item& item) {
    const auto directory = root / item.directory;
    if (!item.id.empty()) {
        return remove_snapshot(disk, directory, item.id);
    }
    const auto lock = lock_for_edit(disk, directory); // it may be a manifest that is being written
    if (!lock) {
        return lock.error();
    }
    for (const auto& name : item.file_names) {
        if (const auto failed = disk.remove(directory / name)) {
            return failed;
        }
    }
    return {};
}

std::string describe_item(const fs::path& root, const stored_item& item) {
    if (item.manifest) {
        return fmt::format(
            "snapshot {} ({}, {} tokens, {})", item.id, item.manifest->model_name,
            item.manifest->tokens, format_bytes(item.bytes));
    }
    return fmt::format(
        "{} ({})", (root / item.directory / item.file_names.back()).string(),
        format_bytes(item.bytes));
}

} // namespace hibernate::store

#include "llama_hibernate/store/snapshot_changes.hpp"

#include <algorithm>
#include <vector>

#include "snapshot_files.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;
namespace errc = boost::system::errc;

namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// Of a conversation that was saved whole and as its prompt, the other one.
std::string twin_of(disk& disk, const fs::path& directory, const std::string& id) {
    const auto own = load_manifest(disk, directory, id);
    if (own.value && !own.value->boundary_of.empty()) {
        return own.value->boundary_of;
    }
    if (const auto names = names_in(disk, directory)) {
        for (const auto& other : committed_ids(*names)) {
            const auto saved = load_manifest(disk, directory, other);
            if (saved.value && saved.value->boundary_of == id) {
                return other;
            }
        }
    }
    return {};
}

error_code erase_one(disk& disk, const fs::path& directory, const std::string& id) {
    if (const auto saved = load_snapshot(disk, directory, id); saved.manifest) {
        for (const auto& old : saved.manifest->supersedes) {
            const auto older = load_manifest(disk, directory, old);
            if (older.value && older.value->pinned) {
                continue;
            }
            if (const auto failed = remove_snapshot(disk, directory, old)) {
                return failed;
            }
        }
    }
    return remove_snapshot(disk, directory, id);
}

} // namespace

error_code set_pinned(disk& disk, const fs::path& directory, const std::string& id, bool pinned) {
    const auto change = [pinned](manifest& changed) { changed.pinned = pinned; };
    auto failed = edit_manifest(disk, directory, id, when_synced::now, change);
    // One that is published later finds the pin as it is now.
    const auto names = names_in(disk, directory);
    if (!names) {
        return failed ? failed : names.error();
    }
    const auto twin = twin_of(disk, directory, id);
    for (const auto& other : committed_ids(*names)) {
        const auto saved = load_manifest(disk, directory, other);
        if (!saved.value || (other != twin && !contains(saved.value->supersedes, id))) {
            continue;
        }
        const auto also_failed = edit_manifest(disk, directory, other, when_synced::now, change);
        const bool went = failed == errc::no_such_file_or_directory;
        failed = went || !failed ? also_failed : failed;
    }
    return failed;
}

error_code lift_quarantine(disk& disk, const fs::path& directory, const std::string& id) {
    return edit_manifest(disk, directory, id, when_synced::now, [](manifest& changed) {
        changed.quarantine.clear();
        changed.crashes = 0;
        changed.missed = 0;
    });
}

error_code erase_snapshot(disk& disk, const fs::path& directory, const std::string& id) {
    if (!is_snapshot_id(id)) {
        return errc::make_error_code(errc::invalid_argument);
    }
    const auto twin = twin_of(disk, directory, id);
    const auto failed = erase_one(disk, directory, id);
    return failed || twin.empty() ? failed : erase_one(disk, directory, twin);
}

} // namespace hibernate::store

#include "llama_hibernate/store/snapshot_changes.hpp"

#include "snapshot_files.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;
namespace errc = boost::system::errc;

error_code set_pinned(disk& disk, const fs::path& directory, const std::string& id, bool pinned) {
    return edit_manifest(disk, directory, id, when_synced::now, [pinned](manifest& changed) {
        changed.pinned = pinned;
    });
}

error_code lift_quarantine(disk& disk, const fs::path& directory, const std::string& id) {
    return edit_manifest(disk, directory, id, when_synced::now, [](manifest& changed) {
        changed.quarantine.clear();
        changed.crashes = 0;
    });
}

error_code erase_snapshot(disk& disk, const fs::path& directory, const std::string& id) {
    if (!is_snapshot_id(id)) {
        return errc::make_error_code(errc::invalid_argument);
    }
    if (const auto saved = load_snapshot(disk, directory, id); saved.manifest) {
        for (const auto& old : saved.manifest->supersedes) {
            if (const auto failed = remove_snapshot(disk, directory, old)) {
                return failed;
            }
        }
    }
    return remove_snapshot(disk, directory, id);
}

} // namespace hibernate::store

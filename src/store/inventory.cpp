#include "llama_hibernate/store/inventory.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/store/directory_name.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

namespace fs = std::filesystem;

namespace {

constexpr unsigned max_foreign_entries = 100'000;
constexpr int max_foreign_depth = 32;

std::vector<file_entry> list_sorted(disk& disk, const fs::path& directory) {
    auto entries = disk.list(directory);
    if (!entries) {
        return {};
    }
    std::sort(entries->begin(), entries->end(), [](const auto& a, const auto& b) {
        return a.name < b.name;
    });
    return std::move(*entries);
}

/// Adds up what lies in foreign directories, up to a number of entries for all of them together.
class foreign_sizes {
public:
    explicit foreign_sizes(disk& disk) : disk_(disk) {}

    std::uint64_t of(const fs::path& parent, const file_entry& entry, int depth = 0) {
        if (!entry.directory) {
            return entry.bytes;
        }
        std::uint64_t bytes = 0;
        if (left_ == 0 || depth == max_foreign_depth) {
            return bytes;
        }
        const auto path = parent / entry.name;
        for (const auto& below : list_sorted(disk_, path)) {
            if (left_ == 0) {
                break;
            }
            --left_;
            bytes += of(path, below, depth + 1);
        }
        return bytes;
    }

private:
    disk& disk_;
    unsigned left_ = max_foreign_entries;
};

bool holds_lock(const std::vector<file_entry>& entries) {
    return std::any_of(entries.begin(), entries.end(), [](const file_entry& entry) {
        return entry.regular && entry.name == lock_name;
    });
}

/// The entries of one directory that bear the same id.
struct id_files {
    const file_entry* state = nullptr;
    const file_entry* manifest = nullptr;
    const file_entry* unfinished = nullptr; ///< a manifest that was being written
};

/// Files of a few bytes that are no items.
bool is_housekeeping(const std::string& name) {
    const std::string_view whole = name;
    const auto stem = whole.ends_with(".tmp") ? whole.substr(0, whole.rfind('.')) : whole;
    return name == lock_name || stem == written_name || stem == stopped_name ||
           stem == adopted_name;
}

class inventory_taker {
public:
    inventory_taker(disk& disk, fs::path root)
        : disk_(disk), root_(std::move(root)), foreign_sizes_(disk), boot_(boot_id()) {}

    inventory take() {
        for (const auto& entry : list_sorted(disk_, root_)) {
            if (!entry.directory || !is_directory_name(entry.name) || !take_directory(entry.name)) {
                add_foreign({}, entry);
            }
        }
        for (const auto& item : found_.items) {
            found_.bytes += item.bytes;
        }
        if (const auto free = disk_.free_space(root_)) {
            found_.free_bytes = *free;
        }
        return std::move(found_);
    }

private:
    /// False if it is not ours.
    bool take_directory(const std::string& name) {
        const auto entries = list_sorted(disk_, root_ / name);
        if (!entries.empty() && !holds_lock(entries)) {
            return false;
        }
        std::map<std::string, id_files> by_id;
        for (const auto& entry : entries) {
            auto* place = entry.regular ? place_of(entry.name, by_id) : nullptr;
            if (place != nullptr) {
                *place = &entry;
            } else if (entry.regular && is_staging_name(entry.name)) {
                add_leftover(name, entry);
            } else if (!entry.regular || !is_housekeeping(entry.name)) {
                add_foreign(name, entry);
            }
        }
        for (const auto& [id, files] : by_id) {
            take_files(name, id, files);
        }
        return true;
    }

    static const file_entry**
    place_of(const std::string& name, std::map<std::string, id_files>& by_id) {
        const bool state = is_snapshot_name(name, state_extension);
        const bool manifest = is_snapshot_name(name, manifest_extension);
        if (!state && !manifest && !is_snapshot_name(name, unfinished_extension)) {
            return nullptr;
        }
        auto& files = by_id[name.substr(0, snapshot_id_digits)];
        return state ? &files.state : manifest ? &files.manifest : &files.unfinished;
    }

    void take_files(const std::string& directory, const std::string& id, const id_files& files) {
        if (files.state == nullptr || files.manifest == nullptr) {
            for (const auto* half : {files.manifest, files.state, files.unfinished}) {
                if (half != nullptr) {
                    add_leftover(directory, *half);
                }
            }
            return;
        }
        stored_item item;
        item.what = stored_item::kind::snapshot;
        item.directory = directory;
        item.id = id;
        // The manifest first: half of a pair that is left by a kill is then no snapshot.
        item.file_names = {files.manifest->name, files.state->name};
        item.bytes = files.manifest->bytes + files.state->bytes;
        if (files.unfinished != nullptr) { // a change of its manifest, perhaps under way just now
            item.file_names.insert(item.file_names.end() - 1, files.unfinished->name);
            item.bytes += files.unfinished->bytes;
        }
        auto reading = load_manifest(disk_, root_ / directory, id);
        const bool may_be_sound = reading.may_be_sound;
        item.manifest = std::move(reading.value);
        item.problem = std::move(reading.problem);
        if (item.manifest) {
            item.problem = what_is_wrong(*item.manifest, files.state->bytes);
        }
        if (!item.problem.empty()) {
            item.what = may_be_sound ? stored_item::kind::unreadable : stored_item::kind::broken;
        } else if (!item.manifest->quarantine.empty()) {
            item.what = stored_item::kind::quarantined;
            item.problem = item.manifest->quarantine;
        }
        found_.items.push_back(std::move(item));
    }

    std::string what_is_wrong(const manifest& saved, std::uint64_t bytes) const {
        if (bytes != saved.bytes) {
            return fmt::format(
                "its state file has {} bytes, but {} were saved", bytes, saved.bytes);
        }
        if (!saved.synced && saved.boot_id != boot_) {
            return std::string(lost_with_its_boot);
        }
        return {};
    }

    void add_leftover(const std::string& directory, const file_entry& entry) {
        stored_item item;
        item.what = stored_item::kind::leftover;
        item.directory = directory;
        item.file_names = {entry.name};
        item.bytes = entry.bytes;
        found_.items.push_back(std::move(item));
    }

    void add_foreign(const std::string& directory, const file_entry& entry) {
        stored_item item;
        item.what = stored_item::kind::foreign;
        item.directory = directory;
        item.file_names = {entry.name};
        item.bytes = foreign_sizes_.of(root_ / directory, entry);
        found_.items.push_back(std::move(item));
    }

    disk& disk_;
    fs::path root_;
    foreign_sizes foreign_sizes_;
    std::string boot_;
    inventory found_;
};

} // namespace

std::vector<std::string> model_directories(disk& disk, const fs::path& root) {
    std::vector<std::string> names;
    for (const auto& entry : list_sorted(disk, root)) {
        if (entry.directory && is_directory_name(entry.name) &&
            holds_lock(list_sorted(disk, root / entry.name))) {
            names.push_back(entry.name);
        }
    }
    return names;
}

inventory take_inventory(disk& disk, const fs::path& root) {
    return inventory_taker(disk, root).take();
}

amount amount_of(const inventory& stored, stored_item::kind what) {
    amount found;
    for (const auto& item : stored.items) {
        if (item.what == what) {
            ++found.count;
            found.bytes += item.bytes;
        }
    }
    return found;
}

successors find_successors(const inventory& stored) {
    successors found;
    for (const auto& item : stored.items) {
        if (item.what == stored_item::kind::snapshot) {
            for (const auto& old : item.manifest->supersedes) {
                if (old != item.id) {
                    found.emplace(snapshot_key(item.directory, old), item.id);
                }
            }
        }
    }
    return found;
}

std::string successor_of(const stored_item& item, const successors& known) {
    const auto found = known.find({item.directory, item.id});
    return found == known.end() || item.what != stored_item::kind::snapshot ? std::string()
                                                                            : found->second;
}

const char* name_of_state(const stored_item& item, const std::string& superseded_by) {
    using kind = stored_item::kind;
    if (!superseded_by.empty()) {
        return "superseded";
    }
    switch (item.what) {
    case kind::snapshot:
        return is_retired(*item.manifest) ? "retired" : "ready";
    case kind::quarantined:
        return "quarantined";
    case kind::broken:
        return "broken";
    case kind::unreadable:
        return "unreadable";
    case kind::leftover:
    case kind::foreign:
        break;
    }
    return "";
}

std::uint64_t measure(disk& disk, const fs::path& root) {
    foreign_sizes foreign(disk);
    std::uint64_t bytes = 0;
    for (const auto& entry : list_sorted(disk, root)) {
        if (!entry.directory || !is_directory_name(entry.name)) {
            bytes += foreign.of(root, entry);
            continue;
        }
        for (const auto& inner : list_sorted(disk, root / entry.name)) {
            bytes += foreign.of(root / entry.name, inner);
        }
    }
    return bytes;
}

} // namespace hibernate::store

#include "llama_hibernate/app/adoptable_files.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "llama_hibernate/keeper/adoption.hpp"

namespace hibernate::app {

namespace fs = std::filesystem;

namespace {

/// One in quarantine keeps nothing: if it was this file's, a power cut came before it was synced.
std::string find_kept(
    disk& files,
    store::model_directory& directory,
    const store::signature& now,
    const llama::state_file_head& head) {
    for (const auto& snapshot : directory.snapshots()) {
        const auto& one = snapshot.manifest;
        if (one.tokens < head.tokens.size() || !store::compatible(store::signature_of(one), now)) {
            continue;
        }
        const auto reading =
            llama::read_state_file_head(files, directory.path() / snapshot.file_name);
        if (reading.head && llama::continues(*reading.head, head)) {
            return one.id;
        }
    }
    return {};
}

} // namespace

io_result<std::vector<adoptable_file>> list_adoptable(disk& files, const fs::path& folder) {
    const auto entries = files.list(folder);
    if (!entries) {
        return entries.error();
    }
    std::vector<adoptable_file> found;
    for (const auto& entry : *entries) {
        if (entry.regular && keeper::is_adoptable_name(entry.name)) {
            const auto path = folder / entry.name;
            found.push_back({path.string(), entry.name, entry.bytes, version_of(files, path)});
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.name.size(), a.name) < std::tuple(b.name.size(), b.name);
    });
    return found;
}

std::string version_of(disk& files, const fs::path& file) {
    const auto version = files.version(file);
    return version ? *version : std::string();
}

adoptable_head look_at(
    disk& files,
    store::model_directory& directory,
    const store::signature& now,
    const fs::path& file) {
    auto reading = llama::read_state_file_head(files, file);
    adoptable_head seen{std::move(reading.head), std::move(reading.problem), {}};
    if (seen.head) {
        seen.kept_in = find_kept(files, directory, now, *seen.head);
    }
    return seen;
}

} // namespace hibernate::app

#include "llama_hibernate/commands/model_folder.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "llama_hibernate/commands/selection.hpp"
#include "llama_hibernate/store/directory_name.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::commands {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view what_it_takes =
    "--model-dir takes the folder of one model in a store, or the model's name as "
    "\"llama-hibernate store ls\" lists it";

bool is_path(const std::string& given) {
    return given.find('/') != std::string::npos || given == "." || given == "..";
}

std::string refuse_path(disk& disk, const fs::path& path) {
    if (const auto listed = disk.list(path); !listed) {
        return listed.error() == boost::system::errc::no_such_file_or_directory
                   ? fmt::format("there is no directory {}; {}", path.string(), what_it_takes)
                   : fmt::format("{}: {}", path.string(), listed.error().message());
    }
    const auto folders = store::model_directories(disk, path);
    return folders.empty()
               ? fmt::format("{} is no model's folder; {}", path.string(), what_it_takes)
               : fmt::format(
                     "{} is a store, and no model's folder; give one of those in it: {}",
                     path.string(), fmt::join(folders, ", "));
}

/// What the name means, of all that is in the store.
std::vector<std::string>
folders_of_model(disk& disk, const fs::path& root, const std::string& name) {
    const auto folders = store::model_directories(disk, root);
    if (std::find(folders.begin(), folders.end(), name) != folders.end()) {
        return {name};
    }
    std::set<std::string> meant;
    for (const auto& folder : folders) {
        if (store::name_in(folder) == name) {
            meant.insert(folder);
        }
    }
    for (const auto& item : store::take_inventory(disk, root).items) {
        if (!item.id.empty() && is_of_model(item, name)) {
            meant.insert(item.directory);
        }
    }
    return {meant.begin(), meant.end()};
}

} // namespace

model_place read_model_place(const std::string& given, const fs::path& usual_root) {
    if (!is_path(given)) {
        return {usual_root, given};
    }
    std::error_code failed;
    auto path = fs::absolute(given, failed).lexically_normal();
    if (!path.has_filename()) {
        path = path.parent_path();
    }
    const auto name = path.filename().string();
    return store::is_directory_name(name) ? model_place{path.parent_path(), name}
                                          : model_place{path, {}};
}

model_folder find_model_folder(disk& disk, const model_place& place) {
    if (place.root.empty()) {
        return {{}, "there is no store to look into; name it with --hibernate-dir"};
    }
    if (place.name.empty()) {
        return {{}, refuse_path(disk, place.root)};
    }
    const auto meant = folders_of_model(disk, place.root, place.name);
    if (meant.size() == 1) {
        return {meant.front(), {}};
    }
    if (!meant.empty()) {
        return {
            {},
            fmt::format(
                "{} has several models of the name {}; give one of their folders: {}",
                place.root.string(), place.name, fmt::join(meant, ", "))};
    }
    if (store::is_directory_name(place.name)) {
        return {{}, refuse_path(disk, place.root / place.name)};
    }
    return {
        {},
        fmt::format(
            "there is no model {} in {}; {}", place.name, place.root.string(), what_it_takes)};
}

} // namespace hibernate::commands

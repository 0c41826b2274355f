#include "llama_hibernate/commands/selection.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "llama_hibernate/store/directory_name.hpp"

namespace hibernate::commands {

using store::stored_item;

namespace {

constexpr std::size_t told_candidates = 5;
constexpr std::string_view model_extension = ".gguf";

bool is_meant(const stored_item& item, std::string_view wanted) {
    if (item.id.empty()) {
        return false;
    }
    if (const auto slash = wanted.rfind('/'); slash != std::string_view::npos) {
        return item.directory == wanted.substr(0, slash) &&
               item.id.starts_with(wanted.substr(slash + 1));
    }
    return item.id.starts_with(wanted);
}

std::string complain(
    const std::string& wanted,
    const std::filesystem::path& root,
    const std::vector<const stored_item*>& meant) {
    if (meant.empty()) {
        return fmt::format("there is no snapshot {} in {}", wanted, root.string());
    }
    auto text = fmt::format("{} is the beginning of {} ids: ", wanted, meant.size());
    for (std::size_t i = 0; i < meant.size() && i < told_candidates; ++i) {
        text += fmt::format("{}{}/{}", i == 0 ? "" : ", ", meant[i]->directory, meant[i]->id);
    }
    return meant.size() > told_candidates ? text + ", ..." : text;
}

} // namespace

bool is_of_model(const stored_item& item, const std::string& model) {
    if (model.empty() || item.directory == model || store::name_in(item.directory) == model) {
        return true;
    }
    return item.manifest &&
           (item.manifest->model_name == model || item.manifest->model_path == model ||
            item.manifest->model_name == fmt::format("{}{}", model, model_extension));
}

selection select_by_ids(
    const store::inventory& stored,
    const std::filesystem::path& root,
    const std::vector<std::string>& wanted) {
    std::set<const stored_item*> chosen;
    for (const auto& each : wanted) {
        std::vector<const stored_item*> meant;
        for (const auto& item : stored.items) {
            if (!each.empty() && is_meant(item, each)) {
                meant.push_back(&item);
            }
        }
        if (meant.size() != 1) {
            return {{}, complain(each, root, meant)};
        }
        chosen.insert(meant.front());
    }
    selection result;
    for (const auto& item : stored.items) {
        if (chosen.contains(&item)) {
            result.items.push_back(&item);
        }
    }
    return result;
}

std::vector<const stored_item*> select_all(const store::inventory& stored) {
    std::vector<const stored_item*> items;
    for (const auto& item : stored.items) {
        if (!item.id.empty()) {
            items.push_back(&item);
        }
    }
    return items;
}

unpinned_selection select_unpinned(const store::inventory& stored, const std::string& model) {
    unpinned_selection result;
    for (const auto& item : stored.items) {
        if (item.id.empty() || !is_of_model(item, model)) {
            continue;
        }
        if (item.manifest && item.manifest->pinned) {
            ++result.pinned;
        } else {
            result.items.push_back(&item);
        }
    }
    return result;
}

} // namespace hibernate::commands

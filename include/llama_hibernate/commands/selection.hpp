#pragma once
// Which snapshots a user means: pure, over an inventory.

#include <filesystem>
#include <string>
#include <vector>

#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::commands {

/// In the inventory's order, each once; or a sentence on the first name that means none or several.
struct selection {
    std::vector<const store::stored_item*> items; ///< the inventory's own
    std::string problem;
};

/// By ids or beginnings of them; "DIRECTORY/ID" chooses between model directories. Whatever has an
/// id can be named: sound snapshots, those in quarantine, and broken ones.
selection select_by_ids(
    const store::inventory& stored,
    const std::filesystem::path& root, ///< for the sentence
    const std::vector<std::string>& wanted);

/// Whether it is of the model of that name: its file's name with or without ".gguf", its path, its
/// directory, or the name that the user gave it. Empty: of any.
bool is_of_model(const store::stored_item& item, const std::string& model);

/// Everything that has an id.
std::vector<const store::stored_item*> select_all(const store::inventory& stored);

/// Everything that has an id, is of that model (is_of_model()) and not pinned.
struct unpinned_selection {
    std::vector<const store::stored_item*> items;
    std::size_t pinned = 0; ///< that were left out
};
unpinned_selection select_unpinned(const store::inventory& stored, const std::string& model);

} // namespace hibernate::commands

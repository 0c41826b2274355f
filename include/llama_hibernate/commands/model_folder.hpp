#pragma once
// Which model's folder in a store the user of `status --model-dir` means.

#include <filesystem>
#include <string>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::commands {

/// A path, which leads to a folder in a store of its own, or a name in the usual store. Its root is
/// the store's; of a path that names no model's folder, that path itself.
struct model_place {
    std::filesystem::path root;
    std::string name; ///< of a folder or a model; empty: the path is none of a model's folder
};
model_place read_model_place(const std::string& given, const std::filesystem::path& usual_root);

/// The folder's name, or a sentence on why there is none.
struct model_folder {
    std::string name;
    std::string problem;
};
model_folder find_model_folder(disk& disk, const model_place& place);

} // namespace hibernate::commands

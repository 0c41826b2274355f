#pragma once
// What eviction needs to know of the world, and its deed: the locks of model directories, which
// models are gone, and the removal of items of an inventory.

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/eviction.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::store {

/// Locks of model directories, held while this lives: nobody saves there or starts to.
class directory_locks {
public:
    /// Of all directories in the inventory but our own, as far as nobody else has them.
    directory_locks(
        disk& disk,
        const std::filesystem::path& root,
        const inventory& stored,
        const std::string& own_directory);

    /// Those of the inventory that are neither locked by us nor our own.
    std::set<std::string> closed_directories(const inventory& stored) const;

private:
    std::string own_directory_;
    std::map<std::string, std::unique_ptr<file_lock>> locks_;
};

/// Paths of models in the manifests where no file is any more.
std::set<std::string> find_missing_models(disk& disk, const inventory& stored);

error_code remove_item(disk& disk, const std::filesystem::path& root, const stored_item& item);

/// "snapshot 0123456789abcdef (tiny, 1507 tokens, 2.97 MiB)", or the path of a file.
std::string describe_item(const std::filesystem::path& root, const stored_item& item);

} // namespace hibernate::store

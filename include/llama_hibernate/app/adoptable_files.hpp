#pragma once
// The slot files of somebody else's that may be adopted, as far as the disk tells without
// llama-server. Everything here blocks, and only reads.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::app {

struct adoptable_file {
    std::string path; ///< absolute
    std::string name;
    std::uint64_t bytes = 0;
    std::string version; ///< disk::version; empty if it cannot be told
};

/// Those of a folder, in the order of their numbers. Links are none.
io_result<std::vector<adoptable_file>>
list_adoptable(disk& files, const std::filesystem::path& folder);

/// disk::version, or nothing.
std::string version_of(disk& files, const std::filesystem::path& file);

struct adoptable_head {
    std::optional<llama::state_file_head> head;
    std::string problem; ///< if there is none
    /// The snapshot for this signature that has the file's tokens already, and perhaps more; empty
    /// if there is none.
    std::string kept_in;
};
adoptable_head look_at(
    disk& files,
    store::model_directory& directory,
    const store::signature& now,
    const std::filesystem::path& file);

} // namespace hibernate::app

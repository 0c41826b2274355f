#pragma once
// What a new snapshot supersedes, and what passes on to it from there.

#include <filesystem>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

/// Fills in the hash of its tokens, and what the manifest of a new snapshot says of the others:
/// which it supersedes, how their conversation went on, and times that are later than theirs. head
/// is its own; of the manifest there is what the save tells.
void succeed(
    disk& disk,
    const std::filesystem::path& directory,
    const llama::state_file_head& head,
    const name_set& names,
    const staged_save& save,
    publication& result);

/// What was noted of one that is superseded passes on, as it is at the moment of the commit.
void inherit(const manifest& old, const staged_save& save, publication& result);

} // namespace hibernate::store

#pragma once
// What may be done to a snapshot at any time, beside the daemon that uses its directory: the files
// are all that the two share. A daemon that wanted to restore what was removed meanwhile goes on
// without it.
//
// The errors are the disk's; errc::no_such_file_or_directory where there is no such snapshot or its
// manifest is unusable, errc::resource_unavailable_try_again where somebody is stuck in the midst
// of a change.

#include <filesystem>
#include <string>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::store {

/// What is pinned is never evicted. A snapshot that supersedes it by now is meant as well: what a
/// user pins is the conversation. So is its prompt, if that was saved apart.
error_code
set_pinned(disk& disk, const std::filesystem::path& directory, const std::string& id, bool pinned);

/// It may be restored again, once it passes the checks that every snapshot has to pass, and though
/// earlier restores of it were of no use.
error_code
lift_quarantine(disk& disk, const std::filesystem::path& directory, const std::string& id);

/// Together with what it supersedes, which would be restored again; one that is damaged hides
/// nothing, so its predecessors stay, and so do pinned ones. The prompt that was saved apart goes
/// with it, and it with that. No error if it is not there.
error_code
erase_snapshot(disk& disk, const std::filesystem::path& directory, const std::string& id);

} // namespace hibernate::store

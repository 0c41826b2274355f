#pragma once
// What came of the slot files that were to be adopted, kept in the file "adopted" in the model
// directory so that the next start does not try them again:
//
//     {"/slots/0.bin": {"version": "...", "signature": "...", "outcome": "adopted"}}
//
// What is noted holds for that file as it was, and that signature: a file that was written to
// since, or other arguments, make it worth another try. What cannot be read counts as nothing
// noted.

#include <filesystem>
#include <map>
#include <string>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::store {

struct adoption {
    std::string version;   ///< disk::version of the file
    std::string signature; ///< signature::hash
    std::string outcome;   ///< a clause: "adopted", or why it was not

    friend bool operator==(const adoption&, const adoption&) = default;
};

/// By the absolute path of the file.
using adoption_record = std::map<std::string, adoption>;

adoption_record read_adoption_record(disk& disk, const std::filesystem::path& directory);

error_code write_adoption_record(
    disk& disk, const std::filesystem::path& directory, const adoption_record& what);

} // namespace hibernate::store

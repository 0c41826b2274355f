#pragma once
// The names of model directories: pure.

#include <string>
#include <string_view>

namespace hibernate::store {

/// "<model>-<hash8>": the model's file name, tamed for a file system, and a hash of its full name
/// (path or repository), so that two models of one name keep apart. A name that the user gave
/// (--hibernate-name) is tamed in the same way and hashed too. At most 80 bytes of letters, digits,
/// "-", "." and "_", whatever the names hold.
std::string directory_name(std::string_view model, std::string_view given_name);

/// Whether a directory in the root can be ours: "<model>-<8 hex digits>". Others are foreign.
bool is_directory_name(std::string_view name);

/// What stands before the hash: the tamed name of the model, or the one that was given.
std::string_view name_in(std::string_view directory);

} // namespace hibernate::store

#pragma once

#include <string_view>

namespace hibernate::store {

/// Whether a name in a model directory is ours: a snapshot's, a save's under way, or one that we
/// keep our books under, now or in another version; on any file system, so in any case. Files of
/// other people may be there under all other names.
bool is_reserved_name(std::string_view name);

} // namespace hibernate::store

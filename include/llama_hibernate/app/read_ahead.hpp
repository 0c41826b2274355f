#pragma once
// What the disk thread does with the snapshots while the child loads its model.

#include <atomic>
#include <cstdint>

#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

/// One log line on those in quarantine, if there are any.
void report_quarantine(store::model_directory& directory);

/// Reads and checks the snapshots that a restore will probably want, at idle I/O priority, as much
/// as a part of the memory can hold, so that the restore runs from memory. Ends soon after stop
/// becomes true.
void check_ahead(store::model_directory& directory, const std::atomic<bool>& stop);

/// How much of the machine's memory may hold snapshots: a quarter of what is available. The model
/// is read into the same memory, and is wanted first.
std::uint64_t memory_for_snapshots();

} // namespace hibernate::app

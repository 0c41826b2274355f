#pragma once
// Which version of slot files the child writes and reads. No endpoint tells; but the file of an
// empty slot is a few bytes, and says it.

#include <chrono>
#include <cstdint>
#include <optional>

#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

/// Saves slot 0 under a staging name, which is removed again. Nothing (and a log line) if the child
/// does not save it or the file cannot be read. directory is the child's --slot-save-path.
awaitable<std::optional<std::uint32_t>> learn_state_version(
    llama::client& client,
    disk_thread& thread,
    disk& disk,
    store::model_directory& directory,
    std::chrono::steady_clock::time_point deadline);

} // namespace hibernate::app

#pragma once
// Waiting inside a coroutine, without holding up anything else on its thread.

#include <chrono>

#include "llama_hibernate/base/awaitable.hpp"

namespace hibernate {

/// Completes after so long; throws system_error (operation_aborted) when it is cancelled.
awaitable<void> pause(std::chrono::milliseconds time);

} // namespace hibernate

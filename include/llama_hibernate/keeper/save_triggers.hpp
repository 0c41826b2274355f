#pragma once
// When a slot is saved while requests are served: pure.
//
//   idle     nothing is in flight since so long
//   growth   a slot gained so many tokens since its snapshot, and nothing is in flight
//   stale    a slot is unsaved since so long, though others are never at rest
//
// (A handover, which is saved before another conversation takes the slot, is request_lineage.hpp's,
// and a stop saves whatever is left.)

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "llama_hibernate/keeper/slot_table.hpp"

namespace hibernate::keeper {

struct trigger_settings {
    std::chrono::milliseconds idle{3'000}; ///< 0: no idle saves
    std::uint64_t min_tokens = 256;        ///< shorter slots are not worth a file
    std::uint64_t growth_tokens = 8192;
    std::chrono::milliseconds stale{60'000};
};

struct traffic {
    std::size_t in_flight = 0;                         ///< requests that a slot may work on
    std::chrono::steady_clock::time_point quiet_since; ///< when the last of them ended
};

struct due_save {
    slot_state slot;
    const char* reason = "";
};

struct trigger_answer {
    std::optional<due_save> now;
    /// When to ask again, if nothing happens before; nothing: no save is coming.
    std::optional<std::chrono::steady_clock::time_point> later;
};

trigger_answer next_save(
    const slot_table& slots,
    const traffic& requests,
    const trigger_settings& settings,
    std::chrono::steady_clock::time_point now);

} // namespace hibernate::keeper

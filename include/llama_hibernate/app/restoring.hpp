#pragma once
// Carries out the restore plan: one restore at a time, before any traffic, within its budget.
//
// Each snapshot is checked before it is offered to the child. One that is not what was saved, or
// that the child refuses, goes into quarantine, and the next best takes its slot. A refusal may
// have harmed the child: it has to generate a token before anything else is restored. What the
// budget cuts off is nobody's fault and stays as it is.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/keeper/restore_plan.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

/// What the caller wants to be told and asked, all of it on the network thread.
struct restore_watch {
    /// Before each restore: its number from 1 on, and of how many.
    std::function<void(std::size_t, std::size_t)> progress;
    /// The child is given this snapshot now: if it dies, that is to blame.
    std::function<void(const std::string& id)> offered;
    std::function<bool()> abandoned;
};

enum class child_state {
    well,
    harmed, ///< a refused restore left it unable to generate
    gone,   ///< it broke off a connection: it died, or is about to
};

struct restore_report {
    std::vector<std::string> restored_ids;
    std::vector<std::string> in_slots; ///< those of them that were restored last, to stay there
    std::uint64_t tokens = 0;
    std::chrono::milliseconds time{0};
    std::size_t left_out = 0; ///< planned, but unfit, refused by the child or out of time
    child_state child = child_state::well;
};

class slot_restorer {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Everything referred to outlives the call of run(). *stop_reading makes the disk thread end
    /// what it is reading; the caller sets it when the restore is abandoned.
    slot_restorer(
        llama::client& client,
        disk_thread& disk,
        store::model_directory& directory,
        std::atomic<bool>& stop_reading,
        restore_watch watch);

    /// What goes through the first slot into the child's RAM cache before the slots are filled.
    struct preload {
        std::vector<store::snapshot> snapshots; ///< in this order
        /// Where the task runs that pushes them out of the first one; none: there is no other.
        std::optional<int> other_slot;
    };

    /// Completes when all steps are done, at the deadline, as soon as abandoned() says so, or when
    /// the child is not well any more. Half of the time is the slots', whatever the preload needs.
    awaitable<restore_report> run(preload first, keeper::restore_plan plan, time_point deadline);

private:
    enum class step_outcome { restored, unfit, left_out, over };

    awaitable<void> fill_cache(preload what, time_point deadline);
    awaitable<step_outcome> perform(const keeper::restore_step& step, time_point deadline);
    awaitable<store::soundness> check(std::string id, time_point deadline);
    awaitable<std::vector<store::snapshot>> hidden_by(store::manifest unfit);
    awaitable<void> quarantine(std::string id, std::string reason);
    awaitable<child_state> examine_child(int empty_slot, time_point deadline);

    llama::client& client_;
    disk_thread& disk_;
    store::model_directory& directory_;
    std::atomic<bool>& stop_reading_;
    restore_watch watch_;
    restore_report report_;
    std::size_t number_ = 0; ///< of the step, over all of them
    std::size_t planned_ = 0;
};

} // namespace hibernate::app

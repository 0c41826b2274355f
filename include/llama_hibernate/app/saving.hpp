#pragma once
// Carries out saves: one at a time, each once there is room for it, and published as soon as it is
// written. Where the prompt is to be saved apart, the slot is cut to it afterwards and saved again.

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "llama_hibernate/app/boundary_policy.hpp"
#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"
#include "llama_hibernate/keeper/save_speed.hpp"
#include "llama_hibernate/keeper/slot_table.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/room.hpp"

namespace hibernate::app {

struct saved_snapshot {
    std::string id;
    int slot = 0;
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::chrono::microseconds time{0};
};

struct save_report {
    std::vector<saved_snapshot> saved; ///< committed, to be made durable later
    std::vector<std::string> superseded_ids;
    std::size_t missed = 0;                          ///< of those: restored, and computed again
    std::vector<std::pair<std::string, int>> reused; ///< or reused, by what was in that slot
    std::optional<llama::slot> cut;                  ///< the slot that was cut last, as it is now
    std::size_t conversations = 0;
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds time{0};
    std::string unsupported;   ///< why the child cannot save a slot at all, in its words
    std::size_t too_short = 0; ///< slots that are not worth a file, at a stop
    std::size_t not_saved = 0; ///< slots that hold something which is not on disk now
    /// What those would have taken that there was no time for, beyond the time that there was.
    std::chrono::milliseconds missing_time{0};
    bool missing_time_is_certain = true; ///< else it is the least
};

class slot_saver {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// What is known of a slot's content beside what the child says. Asked where this object is
    /// used; the judge runs on the disk thread.
    struct slot_history {
        store::reuse_judge was_reused;
        std::uint64_t prompt_tokens = 0; ///< of the last prompt; 0: not known
    };
    using history_of = std::function<slot_history(int slot)>;

    /// All of it outlives this. in_use are the snapshots that were restored into the child.
    slot_saver(
        llama::client& client,
        disk_thread& disk,
        hibernate::disk& store_disk,
        store::model_directory& directory,
        store::room_keeper& room,
        const child_facts& facts,
        std::set<std::string> in_use,
        std::uint64_t min_tokens,
        keeper::save_speed& speed,
        boundary_policy& boundary,
        history_of history);

    /// Asks the child what its slots hold and saves those that known does not show as saved, until
    /// the deadline, or until abandoned() says so. Slots of fewer tokens than min_tokens are not
    /// worth a file. progress is told each one's number, from 1 on, and of how many.
    awaitable<save_report>
    run(const keeper::slot_table& known,
        time_point deadline,
        std::function<void(std::size_t, std::size_t)> progress,
        std::function<bool()> abandoned);

    /// Saves one slot, while requests are served.
    enum class extent { whole_only, with_prompt };
    awaitable<save_report>
    save_one(keeper::slot_to_save slot, const char* reason, extent how, time_point deadline);

private:
    awaitable<bool> prepare(time_point deadline);
    awaitable<std::vector<keeper::slot_to_save>>
    choose_slots(const keeper::slot_table& known, time_point deadline);
    awaitable<void> save(
        keeper::slot_to_save slot,
        const char* reason,
        extent how,
        time_point deadline,
        const std::function<bool()>& abandoned);
    awaitable<void> save_prompt(
        keeper::slot_to_save slot,
        const store::publication& whole,
        time_point deadline,
        const std::function<bool()>& abandoned);
    awaitable<std::optional<store::publication>> save_state(
        keeper::slot_to_save slot,
        store::staged_save staged,
        time_point deadline,
        const std::function<bool()>& abandoned);
    awaitable<std::optional<store::publication>>
    publish(store::staged_save staged, time_point deadline);
    void note(const store::publication& outcome);
    bool comes_too_late(
        const store::staged_save& staged, std::optional<std::uint64_t> bytes, time_point deadline);
    void note_missing_time(
        std::optional<std::uint64_t> bytes, std::chrono::steady_clock::duration time_there_was);
    void give_up(const store::staged_save& staged, const std::string& why);

    llama::client& client_;
    disk_thread& disk_;
    hibernate::disk& store_disk_; ///< for the disk thread
    store::model_directory& directory_;
    store::room_keeper& room_;
    const child_facts& facts_;
    std::uint64_t min_tokens_;
    keeper::save_speed& speed_;
    boundary_policy& boundary_;
    history_of history_;
    store::room_keeper::present now_; ///< in_use gains what is saved
    save_report report_;
};

} // namespace hibernate::app

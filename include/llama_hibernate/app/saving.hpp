#pragma once
// Carries out saves: one at a time, each once there is room for it, and published as soon as it is
// written.

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"
#include "llama_hibernate/keeper/save_speed.hpp"
#include "llama_hibernate/keeper/slot_table.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/room.hpp"

namespace hibernate::app {

struct save_report {
    std::vector<std::string> saved_ids; ///< committed, to be made durable later
    std::vector<std::string> superseded_ids;
    std::size_t missed = 0; ///< of those: restored, and computed again
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds time{0};
    std::size_t not_saved = 0; ///< slots that hold something which is not on disk now
    /// What those would have taken that there was no time for, as far as it can be told.
    std::chrono::milliseconds missing_time{0};
};

class slot_saver {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// For what is in the slot now. Called where this object is used; what it makes runs on the
    /// disk thread.
    using judge_maker = std::function<store::reuse_judge(int slot)>;

    /// All of it outlives this. in_use are the snapshots that were restored into the child.
    slot_saver(
        llama::client& client,
        disk_thread& disk,
        store::model_directory& directory,
        store::room_keeper& room,
        const child_facts& facts,
        std::set<std::string> in_use,
        std::uint64_t min_tokens,
        keeper::save_speed& speed,
        judge_maker judge);

    /// Asks the child what its slots hold and saves those that known does not show as saved, until
    /// the deadline, or until abandoned() says so. Slots of fewer tokens than min_tokens are not
    /// worth a file.
    boost::asio::awaitable<save_report>
    run(const keeper::slot_table& known, time_point deadline, std::function<bool()> abandoned);

    /// Saves one slot, while requests are served.
    boost::asio::awaitable<save_report>
    save_one(keeper::slot_to_save slot, const char* reason, time_point deadline);

private:
    boost::asio::awaitable<bool> prepare(time_point deadline);
    boost::asio::awaitable<std::vector<keeper::slot_to_save>>
    choose_slots(const keeper::slot_table& known, time_point deadline);
    boost::asio::awaitable<void> save(
        keeper::slot_to_save slot,
        const char* reason,
        time_point deadline,
        const std::function<bool()>& abandoned);
    boost::asio::awaitable<void> publish(store::staged_save staged, time_point deadline);
    bool comes_too_late(
        keeper::slot_to_save slot, std::optional<std::uint64_t> bytes, time_point deadline);
    void give_up(int slot, const std::string& why);

    llama::client& client_;
    disk_thread& disk_;
    store::model_directory& directory_;
    store::room_keeper& room_;
    const child_facts& facts_;
    std::uint64_t min_tokens_;
    keeper::save_speed& speed_;
    judge_maker judge_;
    store::room_keeper::present now_; ///< in_use gains what is saved
    save_report report_;
};

} // namespace hibernate::app

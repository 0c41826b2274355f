#pragma once
// Saves slots while requests are served, so that a kill loses little and a stop has little to do.
//
// After each request one GET /slots tells which slot changed; never in a loop, which would keep a
// child awake that wants to sleep. Saves come when nothing is in flight, or before a request that
// would empty an unsaved slot (a handover); meanwhile requests wait. One slot action is in flight
// at a time: llama-server can lose the wake-up of a second one.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "llama_hibernate/app/slot_action.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/keeper/save_triggers.hpp"
#include "llama_hibernate/keeper/slot_receipts.hpp"
#include "llama_hibernate/keeper/slot_table.hpp"
#include "llama_hibernate/llama/client.hpp"

namespace hibernate::app {

class live_saving {
public:
    using time_point = std::chrono::steady_clock::time_point;

    struct settings {
        keeper::trigger_settings triggers;
        /// Requests beyond these wait here: one that waits in llama-server takes a slot as soon as
        /// another one's answer ends, and what was in it is not saved.
        std::size_t slots = 1;
        /// A task on one slot empties the others (llama-server's default).
        bool slots_empty_each_other = true;
        /// After so much idleness the child sleeps and forgets (--sleep-idle-seconds).
        std::optional<std::chrono::seconds> sleep_after;
        /// Whether saves that can wait may be made; null: always.
        std::function<bool()> may_write;
    };
    struct due_save {
        keeper::slot_state slot;
        keeper::slot_turns turns; ///< what ran in it since it was saved last
        const char* reason = "";
        std::chrono::milliseconds limit{0}; ///< the time that it may take
        bool may_cut = false;               ///< the slot may be given a task: nobody else is served
    };
    struct saved_slot {
        std::uint64_t tokens = 0;       ///< on disk now
        std::optional<llama::slot> cut; ///< what it is, if it was given a task meanwhile
    };
    /// Saves one slot; nothing if it failed.
    using save_slot = std::function<awaitable<std::optional<saved_slot>>(due_save what)>;

    /// Restores into a child that slept.
    using restore_all = std::function<awaitable<void>()>;

    /// Begins at once, when all that is in the child's slots is on disk.
    live_saving(
        boost::asio::io_context& context,
        std::shared_ptr<llama::client> client,
        settings how,
        save_slot save,
        restore_all restore);
    ~live_saving();
    live_saving(const live_saving&) = delete;
    live_saving& operator=(const live_saving&) = delete;

    /// To be awaited before a request that a slot may work on goes to the child: until no save is
    /// under way, and what it would empty is saved. body_start as proxy::request_view has it.
    awaitable<void> before_request(std::string_view body_start);
    /// Before any other request that would wake the child: what it forgot in a sleep is restored
    /// first.
    awaitable<void> before_other_request();
    /// When it has ended.
    void after_request(keeper::ended_request ended);

    /// The same for a slot action of somebody else: it waits while one of ours is under way, and
    /// ours wait while it is. What it displaces is saved before.
    awaitable<void> before_action(slot_action asked);
    void after_action(bool client_left);

    /// No save begins any more; completes when none is under way, or at the deadline.
    awaitable<void> stop(time_point deadline);

    /// What is known of the slots, for the stop.
    const keeper::slot_table& slots() const noexcept;
    const keeper::slot_receipts& receipts() const noexcept;

private:
    struct state;
    static awaitable<void> revive(std::shared_ptr<state> me);
    static void begin_revive(const std::shared_ptr<state>& me);
    static bool may_have_slept(const state& me);
    static void look_again_later(const std::shared_ptr<state>& me);
    static void begin_observe(const std::shared_ptr<state>& me);
    static awaitable<void> observe(std::shared_ptr<state> me);
    static awaitable<void>
    save(std::shared_ptr<state> me, std::vector<keeper::slot_state> slots, const char* reason);
    static void consider(const std::shared_ptr<state>& me);
    static void begin_save(
        const std::shared_ptr<state>& me,
        std::vector<keeper::slot_state> slots,
        const char* reason);
    static std::vector<keeper::slot_state>
    threatened_by(const state& me, std::string_view body_start);
    static awaitable<void> begin(std::shared_ptr<state> me);

    std::shared_ptr<state> state_; ///< its coroutines may outlast this object
};

} // namespace hibernate::app

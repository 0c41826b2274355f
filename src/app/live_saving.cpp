#include "llama_hibernate/app/live_saving.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/keeper/request_lineage.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds look_limit = 2s;
constexpr std::chrono::milliseconds wake_limit = 10min; // it loads its model again
constexpr std::chrono::milliseconds save_limit = 60s;   // requests wait for it
constexpr std::chrono::milliseconds save_limit_in_traffic = 5s;
constexpr std::chrono::milliseconds full_patience = 1s;
constexpr std::chrono::milliseconds look_again_pause = 1200ms; // the child looks once a second
constexpr unsigned most_looks_again = 6;
constexpr auto stop_pause = 5ms;
constexpr auto sleep_slack = 1s; // it measures from a moment of its own

} // namespace

struct live_saving::state {
    state(
        asio::io_context& io,
        std::shared_ptr<llama::client> to,
        settings with,
        save_slot saver,
        restore_all restorer)
        : context(io), client(std::move(to)), how(std::move(with)), save(std::move(saver)),
          restore(std::move(restorer)), changed(io, clock::time_point::max()), due(io), look(io) {}

    asio::io_context& context;
    std::shared_ptr<llama::client> client;
    settings how;
    save_slot save;
    restore_all restore;
    keeper::slot_table slots;
    keeper::slot_receipts receipts;
    std::vector<keeper::ended_request> ended; ///< since the slots were looked at
    keeper::traffic traffic;
    clock::time_point last_admission; ///< of a request to the child
    clock::time_point last_activity;  ///< of the child, as far as it is known
    bool stopped = false;
    bool saving = false;
    bool foreign_action = false; ///< a slot action of somebody else is under way
    /// One whose client left, which the child does all the same, as soon as its slot is idle.
    bool left_action = false;
    bool observing = false;
    bool observe_again = false;
    /// Never expires; cancelled when a save, a look at the slots or a slot action ends.
    asio::steady_timer changed;
    asio::steady_timer due; ///< of the next save, as far as it is known

    asio::steady_timer look;  ///< again, at what a client left behind
    unsigned looks_again = 0; ///< since the last request ended

    bool has_foreign_action() const { return foreign_action || left_action; }

    awaitable<void> wait_for(clock::duration time) {
        auto change = wait();
        auto limit = pause(std::chrono::ceil<std::chrono::milliseconds>(time));
        co_await (std::move(change) || std::move(limit));
    }

    awaitable<void> wait() {
        boost::system::error_code ignored;
        co_await changed.async_wait(asio::redirect_error(use_awaitable, ignored));
    }
};

live_saving::live_saving(
    asio::io_context& context,
    std::shared_ptr<llama::client> client,
    settings how,
    save_slot save,
    restore_all restore)
    : state_(std::make_shared<state>(
          context, std::move(client), std::move(how), std::move(save), std::move(restore))) {
    state_->traffic.quiet_since = clock::now();
    state_->last_activity = clock::now();
    state_->observing = true;
    asio::co_spawn(state_->context, begin(state_), asio::detached);
}

live_saving::~live_saving() {
    state_->stopped = true;
    state_->due.cancel();
    state_->look.cancel();
    state_->changed.cancel();
}

const keeper::slot_table& live_saving::slots() const noexcept {
    return state_->slots;
}

const keeper::slot_receipts& live_saving::receipts() const noexcept {
    return state_->receipts;
}

awaitable<void> live_saving::before_request(std::string_view body_start) {
    const auto me = state_;
    bool looked_for_room = false;
    bool looked = false;
    std::set<std::pair<int, std::int64_t>> tried; ///< slots and the tasks that were last in them
    for (;;) {
        // What the last request left in its slot has to be known before the next one takes it.
        if (me->saving || me->observing) {
            co_await me->wait();
            continue;
        }
        if (me->stopped) {
            break;
        }
        if (me->traffic.in_flight >= me->how.slots) {
            // Of those in flight the child may not have got all yet: slow uploads. Then a slot is
            // idle, and stays so for longer than a request takes to get there.
            const auto since = clock::now() - me->last_admission;
            if (since < full_patience) {
                looked_for_room = false;
                co_await me->wait_for(full_patience - since);
                continue;
            }
            if (!std::exchange(looked_for_room, true)) {
                begin_observe(me);
                continue;
            }
            looked_for_room = false;
            if (!me->slots.any_idle()) {
                co_await me->wait();
                continue;
            }
        }
        if (may_have_slept(*me)) {
            if (me->has_foreign_action()) {
                co_await me->wait();
                continue;
            }
            begin_revive(me);
            continue;
        }
        auto threatened = threatened_by(*me, body_start);
        std::erase_if(threatened, [&](const keeper::slot_state& slot) {
            return tried.contains({slot.id, slot.task});
        });
        // Requests in flight may have taken what was idle, and what a client left behind may have
        // ended; so may one whose client still reads its answer.
        const bool others = me->traffic.in_flight != 0 || me->slots.any_processing();
        if (others && !std::exchange(looked, true)) {
            begin_observe(me);
            continue;
        }
        if (threatened.empty()) {
            break;
        }
        if (me->has_foreign_action()) {
            co_await me->wait();
            continue;
        }
        for (const auto& slot : threatened) {
            tried.emplace(slot.id, slot.task);
        }
        looked = false; // another one may have ended meanwhile
        begin_save(me, std::move(threatened), "handover");
    }
    ++me->traffic.in_flight;
    me->last_admission = clock::now();
    me->last_activity = me->last_admission;
}

awaitable<void> live_saving::before_other_request() {
    const auto me = state_;
    while (!me->stopped && may_have_slept(*me)) {
        if (!me->saving && !me->observing && !me->has_foreign_action()) {
            begin_revive(me);
        }
        co_await me->wait();
    }
}

void live_saving::begin_revive(const std::shared_ptr<state>& me) {
    me->saving = true;
    asio::co_spawn(me->context, revive(me), asio::detached);
}

awaitable<void> live_saving::before_action(slot_action asked) {
    const auto me = state_;
    bool saved = false;
    for (;;) {
        if (me->saving || me->observing || me->has_foreign_action()) {
            co_await me->wait();
            continue;
        }
        if (me->stopped) {
            break;
        }
        if (may_have_slept(*me)) {
            begin_revive(me);
            continue;
        }
        auto displaced =
            me->slots.unsaved(me->how.triggers.min_tokens, keeper::slot_table::failures::with);
        std::erase_if(displaced, [&](const keeper::slot_state& slot) {
            return !asked.displaces || slot.id != asked.slot;
        });
        if (displaced.empty() || std::exchange(saved, true)) {
            break;
        }
        begin_save(me, std::move(displaced), "handover");
    }
    me->foreign_action = true;
    me->due.cancel();
}

void live_saving::after_action(bool client_left) {
    const auto me = state_;
    me->foreign_action = false;
    me->left_action = client_left;
    me->looks_again = 0;
    me->changed.cancel();
    me->last_activity = clock::now();
    if (me->traffic.in_flight == 0) {
        me->traffic.quiet_since = clock::now();
    }
    // While the child works on one it does not answer this.
    if (!me->stopped) {
        begin_observe(me);
    }
}

bool live_saving::may_have_slept(const state& me) {
    // Whatever is in flight: the child does not wait for a body that does not come.
    return me.how.sleep_after &&
           clock::now() - me.last_activity >= *me.how.sleep_after - sleep_slack;
}

/// What the child forgot in its sleep is restored before the request that waits goes to it.
awaitable<void> live_saving::revive(std::shared_ptr<state> me) {
    try {
        const auto props = co_await me->client->props(clock::now() + look_limit);
        if (props) {
            // Wakes it, if it sleeps: the request would do that anyway.
            const auto limit = props->is_sleeping ? wake_limit : look_limit;
            const auto seen = co_await me->client->slots(clock::now() + limit);
            if (seen && (props->is_sleeping || me->slots.was_forgotten(*seen))) {
                co_await me->restore();
                const auto restored = co_await me->client->slots(clock::now() + look_limit);
                if (restored) {
                    me->slots.begin_with(*restored, clock::now());
                    me->receipts.begin_with(*restored);
                }
            }
        }
    } catch (const std::exception& failure) { // out of memory, say
        log::error("after a sleep nothing was restored: {}", failure.what());
    }
    me->traffic.quiet_since = clock::now();
    me->last_activity = clock::now();
    me->saving = false;
    me->changed.cancel();
}

/// The unsaved slots that the request may empty. One that goes on with what is in a slot takes that
/// slot; which one any other takes is llama-server's choice: a similar one, though another is
/// empty.
std::vector<keeper::slot_state>
live_saving::threatened_by(const state& me, std::string_view body_start) {
    auto slots = me.slots.unsaved(me.how.triggers.min_tokens, keeper::slot_table::failures::with);
    const auto own = std::find_if(slots.begin(), slots.end(), [&](const keeper::slot_state& slot) {
        const auto& start = me.receipts.body_start_of(slot.id, slot.task);
        return !start.empty() && keeper::continues_request(start, body_start);
    });
    if (own == slots.end()) {
        return slots;
    }
    if (!me.how.slots_empty_each_other) {
        return {};
    }
    slots.erase(own);
    return slots;
}

void live_saving::after_request(keeper::ended_request ended) {
    const auto me = state_;
    me->ended.push_back(std::move(ended));
    --me->traffic.in_flight;
    me->traffic.quiet_since = clock::now();
    me->last_activity = clock::now();
    me->looks_again = 0;
    if (!me->stopped) {
        begin_observe(me);
    }
}

void live_saving::begin_observe(const std::shared_ptr<state>& me) {
    me->observe_again = true;
    if (!std::exchange(me->observing, true)) {
        asio::co_spawn(me->context, observe(me), asio::detached);
    }
}

awaitable<void> live_saving::observe(std::shared_ptr<state> me) {
    while (std::exchange(me->observe_again, false) && !me->stopped) {
        const auto ended = std::exchange(me->ended, {});
        const auto in_flight = me->traffic.in_flight;
        const auto seen = co_await me->client->slots(clock::now() + look_limit);
        if (seen) {
            me->slots.observe(*seen, clock::now());
            me->receipts.observe(*seen, ended, in_flight);
        } else {
            log::debug("what the slots hold is not known: {}", seen.failure().message);
        }
    }
    me->observing = false;
    if (!me->slots.any_processing() || me->looks_again == most_looks_again) {
        me->left_action = false;
    }
    me->changed.cancel();
    look_again_later(me);
    consider(me);
}

/// A request whose client left is given up by the child some moments later, which nobody tells us.
void live_saving::look_again_later(const std::shared_ptr<state>& me) {
    const bool left_behind = me->traffic.in_flight == 0 && me->slots.any_processing();
    if (!left_behind || me->stopped || me->looks_again == most_looks_again) {
        return;
    }
    ++me->looks_again;
    me->look.expires_after(look_again_pause * me->looks_again);
    me->look.async_wait([me](const boost::system::error_code& cancelled) {
        if (!cancelled && !me->stopped && me->traffic.in_flight == 0) {
            begin_observe(me);
        }
    });
}

awaitable<void> live_saving::begin(std::shared_ptr<state> me) {
    const auto seen = co_await me->client->slots(clock::now() + look_limit);
    if (seen) {
        me->slots.begin_with(*seen, clock::now());
        me->receipts.begin_with(*seen);
    }
    me->observing = false;
    me->changed.cancel();
    if (me->observe_again) {
        begin_observe(me);
    }
}

void live_saving::consider(const std::shared_ptr<state>& me) {
    me->due.cancel();
    if (me->stopped || me->saving || me->observing || me->has_foreign_action()) {
        return; // who ends that asks again
    }
    if (me->how.may_write && !me->how.may_write()) {
        return;
    }
    const auto next = next_save(me->slots, me->traffic, me->how.triggers, clock::now());
    if (next.now) {
        begin_save(me, {next.now->slot}, next.now->reason);
    } else if (next.later) {
        me->due.expires_at(*next.later);
        me->due.async_wait([me](const boost::system::error_code& cancelled) {
            if (!cancelled) {
                consider(me);
            }
        });
    }
}

void live_saving::begin_save(
    const std::shared_ptr<state>& me, std::vector<keeper::slot_state> slots, const char* reason) {
    me->saving = true;
    me->due.cancel();
    asio::co_spawn(me->context, save(me, std::move(slots), reason), asio::detached);
}

awaitable<void> live_saving::save(
    std::shared_ptr<state> me, std::vector<keeper::slot_state> slots, const char* reason) {
    for (const auto& slot : slots) {
        if (me->stopped) {
            break;
        }
        // A slot that a request in flight takes meanwhile is saved when that has ended: too late.
        const bool alone = me->traffic.in_flight == 0;
        const auto limit = alone ? save_limit : save_limit_in_traffic;
        std::optional<saved_slot> saved;
        try {
            due_save what{slot, me->receipts.turns_of(slot.id), reason, limit, alone};
            saved = co_await me->save(std::move(what));
        } catch (const std::exception& failure) { // out of memory, say
            log::error("slot {} was not saved: {}", slot.id, failure.what());
        }
        if (saved && saved->cut) {
            me->slots.observe({*saved->cut}, clock::now());
            me->receipts.observe({*saved->cut}, {}, 0);
        }
        if (saved) {
            me->slots.saved(
                slot.id, saved->cut ? saved->cut->tokens.value_or(0) : saved->tokens,
                saved->cut ? saved->cut->task : slot.task);
            me->receipts.saved(slot.id);
        } else {
            me->slots.failed(slot.id, slot.task);
        }
    }
    me->saving = false;
    me->changed.cancel();
    consider(me);
}

awaitable<void> live_saving::stop(time_point deadline) {
    const auto me = state_;
    me->stopped = true;
    me->due.cancel();
    me->look.cancel();
    while ((me->saving || me->observing || me->foreign_action) && clock::now() < deadline) {
        co_await pause(stop_pause);
    }
}

} // namespace hibernate::app

#include "llama_hibernate/app/live_saving.hpp"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/keeper/request_lineage.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds call_limit = 2s;
constexpr std::chrono::milliseconds wake_limit = 10min; // it loads its model again
constexpr std::chrono::milliseconds save_limit = 60s;   // requests wait for it
constexpr std::chrono::milliseconds save_limit_in_traffic = 5s;
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
          restore(std::move(restorer)), changed(io, clock::time_point::max()), due(io) {}

    asio::io_context& context;
    std::shared_ptr<llama::client> client;
    settings how;
    save_slot save;
    restore_all restore;
    keeper::slot_table slots;
    keeper::traffic traffic;
    std::string last_start; ///< of the body of the request that last ran
    bool stopped = false;
    bool saving = false;
    bool observing = false;
    bool observe_again = false;
    /// Never expires; cancelled when a save or a look at the slots ends.
    asio::steady_timer changed;
    asio::steady_timer due; ///< of the next save, as far as it is known

    asio::awaitable<void> wait() {
        boost::system::error_code ignored;
        co_await changed.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
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
}

live_saving::~live_saving() {
    state_->stopped = true;
    state_->due.cancel();
    state_->changed.cancel();
}

const keeper::slot_table& live_saving::slots() const noexcept {
    return state_->slots;
}

asio::awaitable<void> live_saving::before_request(std::string body_start) {
    const auto me = state_;
    bool looked = false;
    for (;;) {
        // What the last request left in its slot has to be known before the next one takes it.
        const bool full = me->traffic.in_flight >= me->how.slots && !me->stopped;
        if (me->saving || me->observing || full) {
            co_await me->wait();
            continue;
        }
        if (me->stopped) {
            break;
        }
        if (may_have_slept(*me)) {
            me->saving = true;
            asio::co_spawn(me->context, revive(me), asio::detached);
            continue;
        }
        if (!is_handover(*me, body_start)) {
            break;
        }
        if (me->traffic.in_flight != 0 && !std::exchange(looked, true)) {
            begin_observe(me); // those in flight may have taken what was idle
            continue;
        }
        begin_save(me, me->slots.unsaved(me->how.triggers.min_tokens), "handover");
    }
    ++me->traffic.in_flight;
    me->last_start = std::move(body_start);
}

bool live_saving::may_have_slept(const state& me) {
    return me.how.sleep_after && me.traffic.in_flight == 0 &&
           clock::now() - me.traffic.quiet_since >= *me.how.sleep_after - sleep_slack;
}

/// What the child forgot in its sleep is restored before the request that waits goes to it.
asio::awaitable<void> live_saving::revive(std::shared_ptr<state> me) {
    try {
        const auto props = co_await me->client->props(clock::now() + call_limit);
        if (props) {
            // Wakes it, if it sleeps: the request would do that anyway.
            const auto limit = props->is_sleeping ? wake_limit : call_limit;
            const auto seen = co_await me->client->slots(clock::now() + limit);
            if (seen && (props->is_sleeping || me->slots.was_forgotten(*seen))) {
                me->slots = {};
                co_await me->restore();
            }
        }
    } catch (const std::exception& failure) { // out of memory, say
        log::error("after a sleep nothing was restored: {}", failure.what());
    }
    me->traffic.quiet_since = clock::now();
    me->saving = false;
    me->changed.cancel();
}

bool live_saving::is_handover(const state& me, const std::string& body_start) {
    if (me.slots.unsaved(me.how.triggers.min_tokens).empty()) {
        return false;
    }
    const bool threatens = me.how.slots_empty_each_other || !me.slots.has_empty_slot();
    return threatens && !keeper::continues_request(me.last_start, body_start);
}

void live_saving::after_request() {
    const auto me = state_;
    --me->traffic.in_flight;
    me->traffic.quiet_since = clock::now();
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

asio::awaitable<void> live_saving::observe(std::shared_ptr<state> me) {
    while (std::exchange(me->observe_again, false) && !me->stopped) {
        const auto seen = co_await me->client->slots(clock::now() + call_limit);
        if (seen) {
            me->slots.observe(*seen, clock::now());
        } else {
            log::debug("what the slots hold is not known: {}", seen.failure().message);
        }
    }
    me->observing = false;
    me->changed.cancel();
    consider(me);
}

void live_saving::consider(const std::shared_ptr<state>& me) {
    me->due.cancel();
    if (me->stopped || me->saving || me->observing) {
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

asio::awaitable<void> live_saving::save(
    std::shared_ptr<state> me, std::vector<keeper::slot_state> slots, const char* reason) {
    for (const auto& slot : slots) {
        if (me->stopped) {
            break;
        }
        // A slot that a request in flight takes meanwhile is saved when that has ended: too late.
        const auto limit = me->traffic.in_flight == 0 ? save_limit : save_limit_in_traffic;
        std::optional<std::uint64_t> tokens;
        try {
            tokens = co_await me->save(slot, reason, limit);
        } catch (const std::exception& failure) { // out of memory, say
            log::error("slot {} was not saved: {}", slot.id, failure.what());
        }
        // One that failed is not tried again before it changes.
        me->slots.saved(slot.id, tokens.value_or(0), slot.task);
    }
    me->saving = false;
    me->changed.cancel();
    consider(me);
}

asio::awaitable<void> live_saving::stop() {
    const auto me = state_;
    me->stopped = true;
    me->due.cancel();
    while (me->saving || me->observing) {
        co_await me->wait();
    }
}

} // namespace hibernate::app

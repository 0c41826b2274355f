#include "llama_hibernate/keeper/service_notices.hpp"

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using keeper::phase;
using keeper::service_condition;
using keeper::service_notices;

namespace {

/// The message, which arrives.
std::string tell(service_notices& notices, const service_condition& now) {
    const auto text = notices.message(now);
    notices.delivered(now);
    return text;
}

service_condition in(phase which, std::string detail = "") {
    return {which, false, std::move(detail), 0ms};
}

service_condition
stopping_in(phase which, std::chrono::milliseconds left, std::string detail = "") {
    return {which, true, std::move(detail), left};
}

} // namespace

TEST_CASE("a start asks for time until it is ready, and says so once") {
    service_notices notices({});
    CHECK(tell(notices, in(phase::loading)) == "STATUS=loading\nEXTEND_TIMEOUT_USEC=60000000");
    CHECK(tell(notices, in(phase::loading)) == "EXTEND_TIMEOUT_USEC=60000000");
    CHECK(notices.interval(in(phase::loading)) == 10s); // well before the time is over
    CHECK(
        tell(notices, in(phase::restoring, "1 of 2")) ==
        "STATUS=restoring 1 of 2\nEXTEND_TIMEOUT_USEC=60000000");
    const auto ready = in(phase::ready, "2 conversations restored");
    CHECK(tell(notices, ready) == "READY=1\nSTATUS=ready: 2 conversations restored");
    CHECK(notices.message(ready).empty());
    CHECK_FALSE(notices.interval(ready)); // an idle service wakes nobody
}

TEST_CASE("a child that is started again is a status, and no start of the service") {
    service_notices notices({});
    tell(notices, in(phase::ready));
    CHECK(tell(notices, in(phase::waiting)) == "STATUS=llama-server is started again");
    CHECK(tell(notices, in(phase::loading)) == "STATUS=loading");
    CHECK_FALSE(notices.interval(in(phase::loading)));
    CHECK(tell(notices, in(phase::ready)) == "STATUS=ready");
}

TEST_CASE("a harmed child that is replaced before anybody was served still asks for time") {
    service_notices notices({});
    CHECK(
        tell(notices, in(phase::replacing)) ==
        "STATUS=llama-server is started again\nEXTEND_TIMEOUT_USEC=60000000");
}

TEST_CASE("a stop is announced once, and asks for what is left of its budget") {
    service_notices notices({});
    tell(notices, in(phase::ready));
    CHECK(
        tell(notices, stopping_in(phase::draining, 8s)) ==
        "STOPPING=1\nSTATUS=stopping: requests in flight may end\nEXTEND_TIMEOUT_USEC=13000000");
    CHECK(
        tell(notices, stopping_in(phase::saving, 7s, "1 of 3")) ==
        "STATUS=saving 1 of 3\nEXTEND_TIMEOUT_USEC=12000000");
    CHECK(notices.interval(stopping_in(phase::saving, 7s, "1 of 3")) == 10s);
    SECTION("and for no more when that is over") {
        CHECK(tell(notices, stopping_in(phase::stopping, 0ms)) == "STATUS=stopping");
        CHECK(notices.message(stopping_in(phase::stopping, 0ms)).empty());
    }
}

TEST_CASE("a stop before it was ready is never ready") {
    service_notices notices({});
    tell(notices, in(phase::loading));
    CHECK(
        tell(notices, stopping_in(phase::stopping, 2s)) ==
        "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=7000000");
}

TEST_CASE("what was lost is said again soon") {
    service_notices notices({});
    tell(notices, in(phase::restoring));
    const auto ready = in(phase::ready);
    CHECK(notices.message(ready) == "READY=1\nSTATUS=ready");
    CHECK(notices.interval(ready) == 1s);
    CHECK(notices.message(ready) == "READY=1\nSTATUS=ready");
    notices.delivered(ready);
    CHECK(notices.message(ready).empty());

    const auto stopping = stopping_in(phase::saving, 5s);
    CHECK(notices.message(stopping).starts_with("STOPPING=1\n"));
    CHECK(notices.interval(stopping) == 1s);
}

TEST_CASE("what others named cannot become another line") {
    service_notices notices({});
    CHECK(
        notices.message(in(phase::ready, "one\nSTOPPING=1")) ==
        "READY=1\nSTATUS=ready: one STOPPING=1");
}

TEST_CASE("a watchdog hears of us twice in its time, in every phase") {
    service_notices notices(3s);
    for (const auto which : {phase::loading, phase::ready, phase::saving}) {
        const service_condition now{which, which == phase::saving, "", 1s};
        CHECK(tell(notices, now).ends_with("WATCHDOG=1"));
        CHECK(notices.interval(now) == 1500ms);
    }
    CHECK(notices.message(in(phase::ready)).ends_with("WATCHDOG=1"));
    service_notices hasty(1us);
    CHECK(hasty.interval(in(phase::ready)) == 1ms);
}

TEST_CASE("the watchdog's variables count if they are for us") {
    CHECK(keeper::watchdog_time("60000000", "", 7) == 60s);
    CHECK(keeper::watchdog_time("60000000", "7", 7) == 60s);
    CHECK_FALSE(keeper::watchdog_time("60000000", "8", 7));
    CHECK_FALSE(keeper::watchdog_time("60000000", "seven", 7));
    for (const auto* wrong : {"", "0", "-1", "1s", "99999999999999999999"}) {
        CAPTURE(wrong);
        CHECK_FALSE(keeper::watchdog_time(wrong, "", 7));
    }
}

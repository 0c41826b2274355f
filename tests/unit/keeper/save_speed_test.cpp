#include "llama_hibernate/keeper/save_speed.hpp"

#include "catch.hpp"

using hibernate::keeper::save_speed;
using namespace std::chrono_literals;

TEST_CASE("the time of a save is told from those before, the last counting most") {
    save_speed speed;
    CHECK_FALSE(speed.time_for(1000));
    speed.note(1'000'000, 1s);
    CHECK(speed.time_for(3'000'000) == 3s);
    CHECK(speed.time_for(0) == 0s);
    speed.note(1'000'000, 4s);
    const auto later = speed.time_for(1'000'000).value();
    CHECK(later > 2500ms);
    CHECK(later < 4s);
    for (int i = 0; i < 20; ++i) {
        speed.note(1'000'000, 4s);
    }
    CHECK(speed.time_for(1'000'000).value() > 3900ms);
}

TEST_CASE("saves that took no time tell nothing") {
    save_speed speed;
    speed.note(60'000, 100us);
    CHECK_FALSE(speed.time_for(1'000'000'000));
}

TEST_CASE("the quickest save of earlier runs counts until one is measured") {
    std::vector<hibernate::store::snapshot> earlier(4);
    const auto set = [&](std::size_t at, std::uint64_t bytes, std::chrono::microseconds time) {
        earlier[at].manifest.bytes = bytes;
        earlier[at].manifest.save_time = time;
    };
    set(0, 1000, 100ms);
    set(1, 2000, 100ms);
    set(2, 9000, 1ms); // too short to tell
    set(3, 9000, 0ms); // not known
    save_speed speed;
    speed.remember({});
    CHECK_FALSE(speed.time_for(1000));
    speed.remember(earlier);
    CHECK(speed.time_for(1000) == 50ms);
    CHECK_FALSE(speed.is_measured());
    speed.note(1000, 10ms);
    CHECK(speed.is_measured());
    CHECK(speed.time_for(1000) == 10ms);
    save_speed measured;
    measured.note(1000, 10ms);
    measured.remember(earlier);
    CHECK(measured.time_for(1000) == 10ms);
}

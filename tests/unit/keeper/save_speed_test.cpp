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

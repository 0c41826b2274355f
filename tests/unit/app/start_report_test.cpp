#include "llama_hibernate/app/start_report.hpp"

#include "catch.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using app::describe;

TEST_CASE("the outcome of a start in one clause") {
    app::restore_summary all;
    all.conversations = 5;
    all.tokens = 61204;
    all.time = 800ms;
    CHECK(describe(all) == "5 conversations, 61,204 tokens restored (800 ms)");

    auto some = all;
    some.conversations = 1;
    some.left_out = 2;
    some.skipped = 3;
    some.skipped_brief = "3 skipped: cache-type-k differs";
    CHECK(
        describe(some) == "1 conversation, 61,204 tokens restored (800 ms), 2 not restored, 3 "
                          "skipped: cache-type-k differs");
    some.adopted = 1;
    some.skipped_brief.clear();
    CHECK(
        describe(some) == "1 conversation, 61,204 tokens restored (800 ms), 2 not restored, 1 file "
                          "adopted");
}

TEST_CASE("a start that restores nothing says why, as far as it is known") {
    app::restore_summary none;
    CHECK(describe(none) == "nothing to restore");
    none.skipped_brief = "1 skipped: build differs";
    CHECK(describe(none) == "nothing to restore, 1 skipped: build differs");
    none.left_out = 1;
    CHECK(describe(none) == "none of 1 snapshot restored, 1 skipped: build differs");
    none.wanted = false;
    CHECK(describe(none) == "nothing is restored");
    none.kept = false;
    CHECK(describe(none) == "nothing is saved or restored");
}

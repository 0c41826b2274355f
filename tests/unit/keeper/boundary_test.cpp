#include "llama_hibernate/keeper/boundary.hpp"

#include "catch.hpp"

using namespace hibernate::keeper;
using hibernate::llama::context_memory;
using hibernate::store::continuation;

TEST_CASE("boundary: wanted where a restored slot is of use to nothing but its own continuation") {
    boundary_facts facts;
    CHECK_FALSE(wants_boundary(facts));
    facts.checkpoints = false;
    CHECK_FALSE(wants_boundary(facts));
    for (const auto memory : {context_memory::sliding_window, context_memory::recurrent}) {
        facts.memory = memory;
        facts.checkpoints.reset();
        CHECK_FALSE(wants_boundary(facts)); // the first file will tell
        facts.checkpoints = true;
        CHECK_FALSE(wants_boundary(facts));
        facts.checkpoints = false;
        CHECK(wants_boundary(facts));
    }
    SECTION("a client that repeats every reply as it was needs none") {
        facts.went_on = continuation::verbatim;
        CHECK_FALSE(wants_boundary(facts));
        facts.went_on = continuation::changed;
        CHECK(wants_boundary(facts));
    }
    SECTION("too dear") {
        facts.too_dear = true;
        CHECK_FALSE(wants_boundary(facts));
    }
    SECTION("the user's word counts more") {
        facts.choice = boundary_choice::never;
        CHECK_FALSE(wants_boundary(facts));
        facts = {};
        facts.choice = boundary_choice::always;
        facts.too_dear = true;
        CHECK(wants_boundary(facts));
    }
}

TEST_CASE("boundary: two restores in vain tell more than what is known of the model") {
    boundary_facts facts;
    facts.checkpoints = true;
    facts.missed = 1;
    CHECK_FALSE(wants_boundary(facts));
    facts.missed = 2;
    CHECK(wants_boundary(facts));
}

TEST_CASE("boundary: the end of the prompt, less what templates do not repeat") {
    CHECK(boundary_of(1000, 900, 0, 256) == 900);
    CHECK(boundary_of(1000, 900, 4, 256) == 896);
    CHECK(boundary_of(1000, 500, 0, 256) == 500);
    CHECK_FALSE(boundary_of(1000, 499, 0, 256));  // most of it is the reply
    CHECK_FALSE(boundary_of(1000, 1000, 0, 256)); // nothing was generated
    CHECK(boundary_of(1000, 1000, 4, 256) == 996);
    CHECK_FALSE(boundary_of(300, 255, 0, 256));
    CHECK_FALSE(boundary_of(1000, 0, 0, 0));
    CHECK_FALSE(boundary_of(1000, 3, 4, 0));
}

#include "llama_hibernate/base/directory_owner.hpp"

#include "catch.hpp"

using namespace hibernate;

TEST_CASE("only root acts as another, and only on what is another's") {
    constexpr uid_t root = 0;
    constexpr uid_t ada = 1000;
    CHECK(whom_to_act_as(root, {ada, 100}) == user_and_group{ada, 100});
    CHECK_FALSE(whom_to_act_as(root, {root, 100}));
    CHECK_FALSE(whom_to_act_as(ada, {ada, 100}));
    CHECK_FALSE(whom_to_act_as(ada, {root, 0}));
    CHECK_FALSE(whom_to_act_as(ada, {1001, 100}));
}

TEST_CASE("where there is no directory nobody acts as another") {
    CHECK_FALSE(act_as_owner_of("/there is no such directory"));
}

#include "llama_hibernate/admin/paths.hpp"

#include "catch.hpp"

using namespace hibernate::admin;

TEST_CASE("what is below /hibernate is ours, and nothing else") {
    const paths own("");
    for (const char* path : {"/hibernate", "/hibernate/", "/hibernate/status", "/hibernate/a/b"}) {
        CAPTURE(path);
        CHECK(own.are_ours(path));
    }
    for (const char* path : {"/", "/hibernat", "/hibernated", "/v1/hibernate/status", "*", ""}) {
        CAPTURE(path);
        CHECK_FALSE(own.are_ours(path));
    }
    CHECK(own.find("/hibernate") == resource::directory);
    CHECK(own.find("/hibernate/") == resource::page);
    CHECK(own.find("/hibernate/status") == resource::status);
    CHECK(own.find("/hibernate/metrics") == resource::metrics);
    CHECK(own.find("/hibernate/events") == resource::events);
    for (const char* path : {"/hibernate/status/", "/hibernate/Status", "/hibernate/x"}) {
        CAPTURE(path);
        CHECK(own.find(path) == resource::none);
    }
}

TEST_CASE("an API prefix stands before our paths as it does before llama-server's") {
    const paths own("/foo");
    CHECK(own.are_ours("/foo/hibernate/status"));
    CHECK(own.find("/foo/hibernate/status") == resource::status);
    CHECK_FALSE(own.are_ours("/hibernate/status"));
}

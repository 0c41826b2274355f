#include "llama_hibernate/store/reserved_name.hpp"

#include "catch.hpp"

using hibernate::store::is_reserved_name;

TEST_CASE("names that are ours, or could be taken for ours, are reserved") {
    for (const char* name :
         {"0123456789abcdef.kv", "0123456789abcdef.json", "0123456789abcdef.json.tmp",
          "0123456789abcdef", "0123456789ABCDEF.kv", "0123456789abcdef.", "staging-1-2.kv",
          "staging-", "Staging-1-2.KV", "lock", "LOCK", "written", "written.tmp", "adopted",
          "quarantine", "quarantine-1"}) {
        CAPTURE(name);
        CHECK(is_reserved_name(name));
    }
}

TEST_CASE("all other names are free") {
    for (const char* name :
         {"mine", "mine.kv", "0123456789abcde.kv", "0123456789abcdef0.kv", "0123456789abcdeg.kv",
          "my-0123456789abcdef.kv", "staging", "locked", "writtenly", "a lock", ""}) {
        CAPTURE(name);
        CHECK_FALSE(is_reserved_name(name));
    }
}

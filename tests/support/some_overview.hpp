#pragma once
// An overview of a daemon that has been at work, with names that mean to do harm.

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/base/log.hpp"

namespace hibernate::test {

inline constexpr const char* nasty_name = "</script><b>\"&'\n\x1b[31m\xff";

inline admin::overview some_overview() {
    using namespace std::chrono_literals;
    const auto at = [](int second) { return admin::wall_time(std::chrono::seconds(second)); };
    admin::overview what;
    what.now = at(1'000'000'090);
    what.version = "1.2.3";
    what.state = "ready";
    what.state_since = at(1'000'000'000);
    what.started = at(999'999'990);
    what.child = admin::child_view{42, "b1-test", "tcp", "127.0.0.1:43210"};
    what.model = {nasty_name, "/models/a.gguf", "a-00000000"};
    what.slots = {
        {0, 1507, admin::slot_condition::saved, "aaaaaaaaaaaaaaaa"},
        {1, std::nullopt, admin::slot_condition::empty, ""}};
    admin::snapshot_view snapshot;
    snapshot.id = "aaaaaaaaaaaaaaaa";
    snapshot.state = "ready";
    snapshot.bytes = 4096;
    snapshot.tokens = 1507;
    snapshot.created = at(1'000'000'050);
    snapshot.last_used = snapshot.created;
    snapshot.uses = 3;
    snapshot.reused = 2;
    snapshot.pinned = true;
    snapshot.reason = "idle";
    admin::snapshot_view broken;
    broken.id = "bbbbbbbbbbbbbbbb";
    broken.state = "broken";
    broken.problem = nasty_name;
    broken.bytes = 7;
    what.store = admin::store_view{"/cache", 5000,     std::uint64_t{16} << 30, 2048, 1 << 20,
                                   9,        what.now, {snapshot, broken}};
    what.min_tokens = 256;
    what.reuse = {3014, 1507, 5000, 100, 12.5};
    what.restore = admin::restore_view{3, 2, 3014, 85ms, 1, nasty_name};
    what.last_stop = store::stop_record{at(999'999'000), 2, 3014, 8192, 120ms, 1, 4s, false};
    what.events = {
        {at(1'000'000'050), log::level::info, "saved slot 0"},
        {at(1'000'000'060), log::level::error, nasty_name}};
    return what;
}

} // namespace hibernate::test

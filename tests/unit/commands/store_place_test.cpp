#include "llama_hibernate/commands/store_place.hpp"

#include <sstream>

#include "catch.hpp"
#include "llama_hibernate/commands/store_command.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using namespace hibernate::commands;

namespace {

struct told {
    int status = 0;
    std::string out;
    std::string complaints;
};

told run_in(virtual_disk& disk, const std::vector<std::string>& arguments, bool is_named = false) {
    std::ostringstream out;
    std::ostringstream complaints;
    const store_settings settings{store_root, is_named, 1024, "/service"};
    const auto status = run_store_command(arguments, settings, disk, {out, complaints});
    return {status, out.str(), complaints.str()};
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a service's store is pointed to only where nothing else was meant or found") {
    const place_question lost{"/home/ada/.cache/x", false, false, "/service", true};
    CHECK(
        hint_at_service(lost) == "the systemd service keeps its conversations in /service; to see "
                                 "them: sudo llama-hibernate store --hibernate-dir /service ls");
    const auto hint_with = [&lost](auto change) {
        auto asked = lost;
        change(asked);
        return hint_at_service(asked);
    };
    CHECK(hint_with([](auto& asked) { asked.is_named = true; }).empty());
    CHECK(hint_with([](auto& asked) { asked.has_any = true; }).empty());
    CHECK(hint_with([](auto& asked) { asked.service_root_exists = false; }).empty());
    CHECK(hint_with([](auto& asked) { asked.root = "/service"; }).empty());
}

TEST_CASE("an empty store of one's own beside a service's says where that is") {
    virtual_disk disk;
    CHECK(run_in(disk, {"ls"}).complaints.empty());
    disk.put("/service/tiny-0a1b2c3d/lock", "");
    const auto empty = run_in(disk, {"ls"});
    CHECK(empty.status == 0);
    CHECK(says(empty.out, "0 snapshots in /cache"));
    CHECK(says(empty.complaints, "sudo llama-hibernate store --hibernate-dir /service ls\n"));
    const auto none = run_in(disk, {"pin", "abc"});
    CHECK(none.status == 1);
    CHECK(says(none.complaints, "there is no snapshot abc in /cache\n"));
    CHECK(says(none.complaints, "/service"));
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    CHECK(run_in(disk, {"ls"}).complaints.empty());
}

TEST_CASE("a store that is closed to us exists all the same") {
    virtual_disk disk;
    disk.fail_path(
        "/service", boost::system::errc::make_error_code(boost::system::errc::permission_denied));
    CHECK(says(run_in(disk, {"ls"}).complaints, "/service"));
}

TEST_CASE("a store that was named and is not there is no empty one") {
    virtual_disk disk;
    disk.put("/service/tiny-0a1b2c3d/lock", "");
    for (const char* command : {"ls", "verify", "gc"}) {
        CAPTURE(command);
        const auto named = run_in(disk, {command}, true);
        CHECK(named.status == 1);
        CHECK(named.out.empty());
        CHECK(named.complaints == "llama-hibernate: there is no directory /cache\n");
        CHECK(run_in(disk, {command}).status == 0);
    }
}

TEST_CASE("what gc leaves alone it names") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    const auto daemon = disk.try_lock(store_path / "lock");
    const auto done = run_in(disk, {"gc"}, true);
    CHECK(says(
        done.out, "left alone: " + store_path.string() +
                      ", because a daemon uses it, or nothing can be changed there\n"));
}

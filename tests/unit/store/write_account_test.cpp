#include "llama_hibernate/store/write_account.hpp"

#include "captured_log.hpp"
#include "catch.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "store_fixture.hpp"

using namespace hibernate::test;
using hibernate::store::write_account;
using namespace std::chrono_literals;

TEST_CASE("what was written today is known to the next daemon, and forgotten tomorrow") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    {
        write_account account(disk, store_path);
        CHECK(account.written_today(at(1000)) == 0);
        account.note(500, at(1000));
        account.note(700, at(2000));
        CHECK(account.written_today(at(2000)) == 1200);
    }
    write_account account(disk, store_path);
    CHECK(account.written_today(at(3000)) == 1200);
    CHECK(account.written_today(at(3000) + 24h) == 0);
    account.note(5, at(3000) + 24h);
    CHECK(account.written_today(at(3000) + 24h) == 5);
    CHECK(disk.is_private(store_path / "written"));
}

TEST_CASE("an account that cannot be read or written is no reason to stop") {
    virtual_disk disk;
    for (const char* text : {"", "{", "[]", "{\"day\": 1, \"bytes\": -1}", "{\"day\": \"x\"}"}) {
        disk.put(store_path / "written", text);
        CHECK(write_account(disk, store_path).written_today(at(1)) == 0);
    }
    captured_log lines;
    write_account account(disk, store_path);
    disk.fail_path(
        store_path / "written",
        boost::system::errc::make_error_code(boost::system::errc::no_space_on_device));
    account.note(5, at(1));
    CHECK(account.written_today(at(1)) == 5);
}

TEST_CASE("the account is ours: neither foreign nor a leftover") {
    virtual_disk disk;
    const auto directory = open_store(disk);
    write_account(disk, store_path).note(5, at(1));
    CHECK(hibernate::store::take_inventory(disk, store_root).items.empty());
}

#include "llama_hibernate/process/socket_directory.hpp"

#include <algorithm>
#include <iterator>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "catch.hpp"
#include "temporary_directory.hpp"

using hibernate::process::socket_directory;
using hibernate::process::socket_places;
using namespace hibernate::test;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t entries_in(const fs::path& directory) {
    return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
}

} // namespace

TEST_CASE("a socket directory is private, short, and gone afterwards") {
    const temporary_directory place;
    fs::path socket;
    {
        auto made = socket_directory::make_in({place.path()});
        REQUIRE(made.has_value());
        socket = made->socket_path();
        CHECK(socket.extension() == ".sock");
        CHECK(mode_of(socket.parent_path()) == 0700U);
        CHECK(socket.parent_path().parent_path() == place.path());
        write_file(socket, "");
        made->clear();
        CHECK_FALSE(fs::exists(socket));
        made->clear();
        write_file(socket, "");
    }
    CHECK(entries_in(place.path()) == 0);
}

TEST_CASE("places that cannot take a socket are passed over") {
    const temporary_directory place;
    const auto deep = place.path() / std::string(90, 'x');
    const auto comma = place.path() / "a,b";
    for (const auto& one : {deep, comma}) {
        fs::create_directory(one);
    }
    const auto made = socket_directory::make_in(
        {"relative", deep, comma, place.path() / "missing", place.path()});
    REQUIRE(made.has_value());
    CHECK(fs::path(made->socket_path()).parent_path().parent_path() == place.path());
    CHECK(made->socket_path().size() <= 107);

    CHECK(socket_directory::make_in({deep}).error() == boost::system::errc::filename_too_long);
    CHECK(
        socket_directory::make_in({place.path() / "missing"}).error() ==
        boost::system::errc::no_such_file_or_directory);
}

TEST_CASE("stale directories are removed, those in use and those of others are not") {
    const temporary_directory place;
    const auto in_use = socket_directory::make_in({place.path()});
    REQUIRE(in_use.has_value());
    const auto stale = place.path() / "llama-hibernate-Stale0";
    const auto full = place.path() / "llama-hibernate-Full00";
    const auto others = place.path() / "llama-hibernate-notes";
    const auto link = place.path() / "llama-hibernate-Link00";
    const temporary_directory elsewhere;
    for (const auto& one : {stale, full, others}) {
        fs::create_directory(one);
    }
    write_file(stale / "child.sock", "");
    write_file(full / "somebody's", "");
    write_file(elsewhere.path() / "child.sock", "");
    fs::create_symlink(elsewhere.path(), link);

    const auto second = socket_directory::make_in({place.path()});
    REQUIRE(second.has_value());
    CHECK_FALSE(fs::exists(stale));
    CHECK(fs::exists(fs::path(in_use->socket_path()).parent_path()));
    CHECK(fs::exists(full / "somebody's"));
    CHECK(fs::exists(others));
    CHECK(fs::exists(elsewhere.path() / "child.sock"));
}

TEST_CASE("places come from the environment, and there is always one") {
    using paths = std::vector<fs::path>;
    CHECK(socket_places("", "") == paths{"/tmp"});
    CHECK(socket_places("", "/run/user/1") == paths{"/run/user/1", "/tmp"});
    CHECK(socket_places("/run/a:/run/b", "/run/user/1") == paths{"/run/a", "/run/user/1", "/tmp"});
}

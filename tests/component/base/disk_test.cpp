#include "llama_hibernate/base/disk.hpp"

#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "catch.hpp"

using namespace hibernate;
namespace fs = std::filesystem;

namespace {

struct scratch {
    fs::path path;
    scratch() {
        auto name = (fs::temp_directory_path() / "hibernate-disk-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~scratch() { fs::remove_all(path); }
};

mode_t mode_of(const fs::path& path) {
    struct stat about {};
    REQUIRE(lstat(path.c_str(), &about) == 0);
    return about.st_mode & 07777;
}

} // namespace

TEST_CASE("what the disk creates is private from the start, whatever the umask") {
    const scratch dir;
    const auto disk = make_real_disk();
    const auto when = GENERATE(when_synced::now, when_synced::later);
    const auto old_mask = umask(0);
    REQUIRE_FALSE(disk->create_private_directory(dir.path / "a" / "b"));
    REQUIRE_FALSE(disk->replace(dir.path / "a" / "b" / "file", "content", when));
    umask(old_mask);
    CHECK(mode_of(dir.path / "a") == 0700);
    CHECK(mode_of(dir.path / "a" / "b") == 0700);
    CHECK(mode_of(dir.path / "a" / "b" / "file") == 0600);
    CHECK(*disk->read(dir.path / "a" / "b" / "file", 0, 100) == "content");
}

TEST_CASE("replace leaves one whole file and no temporary one") {
    const scratch dir;
    const auto disk = make_real_disk();
    const auto when = GENERATE(when_synced::now, when_synced::later);
    REQUIRE_FALSE(disk->replace(dir.path / "file", "old and longer", when));
    REQUIRE_FALSE(disk->replace(dir.path / "file", "new content", when));
    CHECK(*disk->read(dir.path / "file", 0, 100) == "new content");
    CHECK(disk->list(dir.path)->size() == 1);

    SECTION("also when the temporary name is taken by a link to somewhere else") {
        std::ofstream(dir.path / "victim") << "untouched";
        fs::create_symlink(dir.path / "victim", dir.path / "file.tmp");
        REQUIRE_FALSE(disk->replace(dir.path / "file", "third", when));
        CHECK(*disk->read(dir.path / "file", 0, 100) == "third");
        CHECK(*disk->read(dir.path / "victim", 0, 100) == "untouched");
    }
    SECTION("a directory that is gone is an error, not a crash") {
        CHECK(disk->replace(dir.path / "gone" / "file", "x", when));
    }
    SECTION("a name that cannot be replaced keeps what it is, and nothing is left beside it") {
        fs::create_directories(dir.path / "taken" / "inner");
        CHECK(disk->replace(dir.path / "taken", "x", when));
        CHECK(fs::is_directory(dir.path / "taken" / "inner"));
        CHECK(disk->list(dir.path)->size() == 2);
    }
    SECTION("who has the old file open still reads the old content, whole") {
        std::ifstream open_file(dir.path / "file");
        REQUIRE_FALSE(disk->replace(dir.path / "file", "other", when));
        std::string content;
        std::getline(open_file, content);
        CHECK(content == "new content");
    }
}

TEST_CASE("a try whether a directory can be written to leaves nothing behind") {
    const scratch dir;
    const auto disk = make_real_disk();
    CHECK_FALSE(disk->check_writable(dir.path));
    CHECK(disk->list(dir.path)->empty());
    CHECK(disk->check_writable(dir.path / "gone"));

    // Its name is taken, which no kill and no neighbour may turn into a refusal or a victim.
    const auto probe = dir.path / fmt::format("staging-{}-0.kv", getpid());
    std::ofstream(dir.path / "victim") << "untouched";
    fs::create_symlink(dir.path / "victim", probe);
    CHECK_FALSE(disk->check_writable(dir.path));
    CHECK(*disk->read(dir.path / "victim", 0, 100) == "untouched");
    CHECK(disk->list(dir.path)->size() == 1);
    std::ofstream(probe) << "left by a process of our id";
    CHECK_FALSE(disk->check_writable(dir.path));
    CHECK(disk->list(dir.path)->size() == 1);
}

TEST_CASE("links are not followed") {
    const scratch dir;
    const auto disk = make_real_disk();
    std::ofstream(dir.path / "target") << "secret";
    fs::create_symlink(dir.path / "target", dir.path / "link");
    CHECK_FALSE(disk->read(dir.path / "link", 0, 10));
    CHECK_FALSE(disk->size(dir.path / "link"));
    CHECK_FALSE(disk->checksum(dir.path / "link"));
    for (const auto& entry : *disk->list(dir.path)) {
        CHECK(entry.regular == (entry.name == "target"));
    }
}

TEST_CASE("a read is bounded by the file, not by what was asked for") {
    const scratch dir;
    const auto disk = make_real_disk();
    std::ofstream(dir.path / "file") << "0123456789";
    CHECK(*disk->read(dir.path / "file", 3, 4) == "3456");
    CHECK(*disk->read(dir.path / "file", 8, std::size_t{1} << 40) == "89");
    CHECK(disk->read(dir.path / "file", 50, 4)->empty());
}

TEST_CASE("a lock is held by one and free again when it is dropped") {
    const scratch dir;
    const auto disk = make_real_disk();
    auto first = disk->try_lock(dir.path / "lock");
    REQUIRE(first);
    REQUIRE(*first);
    auto second = disk->try_lock(dir.path / "lock");
    REQUIRE(second);
    CHECK(*second == nullptr);
    first->reset();
    auto third = disk->try_lock(dir.path / "lock");
    REQUIRE(third);
    CHECK(*third);
}

TEST_CASE("the checksum is XXH3-128") {
    const scratch dir;
    const auto disk = make_real_disk();
    std::ofstream(dir.path / "empty");
    CHECK(*disk->checksum(dir.path / "empty") == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("a copy is ours alone, begins as it was told, and leaves the original as it was") {
    const scratch dir;
    const auto disk = make_real_disk();
    const std::string content(3'000'000, 'x');
    std::ofstream(dir.path / "theirs") << "head" << content;
    fs::permissions(dir.path / "theirs", fs::perms(0444));
    const auto old_mask = umask(0);
    REQUIRE_FALSE(disk->copy(dir.path / "theirs", 4, dir.path / "ours", "another", {}));
    umask(old_mask);
    CHECK(*disk->read(dir.path / "ours", 0, 4'000'000) == "another" + content);
    CHECK(*disk->read(dir.path / "theirs", 0, 4'000'000) == "head" + content);
    CHECK(mode_of(dir.path / "ours") == 0600);
    CHECK(mode_of(dir.path / "theirs") == 0444);

    CHECK(
        disk->copy(dir.path / "theirs", 0, dir.path / "ours") == boost::system::errc::file_exists);
    CHECK(*disk->read(dir.path / "ours", 0, 7) == "another");
}

TEST_CASE("a copy that comes to nothing leaves nothing") {
    const scratch dir;
    const auto disk = make_real_disk();
    std::ofstream(dir.path / "theirs") << std::string(3'000'000, 'x');
    fs::create_symlink(dir.path / "theirs", dir.path / "link");
    CHECK(disk->copy(dir.path / "link", 0, dir.path / "ours"));
    CHECK(disk->copy(dir.path / "none", 0, dir.path / "ours"));
    CHECK(disk->copy(dir.path, 0, dir.path / "ours"));
    const auto half = [](std::uint64_t bytes) { return bytes < 1'500'000; };
    CHECK(
        disk->copy(dir.path / "theirs", 0, dir.path / "ours", {}, half) ==
        boost::system::errc::operation_canceled);
    CHECK_FALSE(fs::exists(dir.path / "ours"));
}

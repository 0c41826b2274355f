#include "llama_hibernate/commands/model_folder.hpp"

#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using namespace hibernate::commands;

namespace {

model_folder find_in(virtual_disk& disk, const std::string& given) {
    return find_model_folder(disk, read_model_place(given, store_root));
}

bool explains(const model_folder& found, const std::string& part) {
    INFO(found.problem);
    return found.name.empty() && found.problem.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a path leads to a store of its own, a name into the usual one") {
    const auto usual = read_model_place("qwen", "/usual");
    CHECK(usual.root == "/usual");
    CHECK(usual.name == "qwen");
    const auto folder = read_model_place("/a/b/../qwen-0a1b2c3d/", "/usual");
    CHECK(folder.root == "/a");
    CHECK(folder.name == "qwen-0a1b2c3d");
    const auto other = read_model_place("/models/", "/usual");
    CHECK(other.root == "/models");
    CHECK(other.name.empty());
    CHECK(read_model_place(".", "/usual").root == std::filesystem::current_path());
    CHECK(read_model_place("/", "/usual").root == "/");
}

TEST_CASE("a model's folder is found by its path and by each of its names") {
    virtual_disk disk;
    put_snapshot(
        disk, own_directory, 'a', 1000, 1, [](auto& one) { one.model_name = "Small.gguf"; });
    put_snapshot(disk, other_directory, 'b', 1000, 1);
    for (const auto& given :
         {store_path.string(), store_path.string() + "/", own_directory, std::string("tiny"),
          std::string("Small.gguf"), std::string("Small")}) {
        CAPTURE(given);
        CHECK(find_in(disk, given).name == own_directory);
    }
}

TEST_CASE("a folder without a snapshot is a model's all the same") {
    virtual_disk disk;
    disk.put(store_path / "lock", "");
    CHECK(find_in(disk, "tiny").name == own_directory);
    CHECK(find_in(disk, own_directory).name == own_directory);
}

TEST_CASE("what is no model's folder is refused with what it should be") {
    virtual_disk disk;
    put_snapshot(disk, own_directory, 'a', 1000, 1);
    put_snapshot(disk, other_directory, 'b', 1000, 1);
    disk.put("/models/tiny.gguf", "model");
    disk.put(std::filesystem::path(store_root) / "mine-00000000" / "notes.txt", "mine");
    disk.put(std::filesystem::path(store_root) / "tiny-99999999" / "lock", "");

    CHECK(explains(find_in(disk, "/models"), "/models is no model's folder; --model-dir takes"));
    CHECK(explains(find_in(disk, "/models"), "llama-hibernate store ls"));
    CHECK(explains(find_in(disk, "/nowhere"), "there is no directory /nowhere; "));
    CHECK(explains(
        find_in(disk, store_root + std::string("/")),
        "/cache is a store, and no model's folder; give one of those in it: " + other_directory +
            ", " + own_directory + ", tiny-99999999"));
    // It bears such a name, but is somebody else's.
    CHECK(explains(find_in(disk, "/cache/mine-00000000"), "is no model's folder"));
    CHECK(explains(find_in(disk, "mine-00000000"), "is no model's folder"));
    CHECK(explains(find_in(disk, "/cache/none-00000000"), "there is no directory /cache/none-"));
    CHECK(explains(find_in(disk, "nonsense"), "there is no model nonsense in /cache; "));
    CHECK(explains(
        find_in(disk, "tiny"), "several models of the name tiny; give one of their folders: " +
                                   own_directory + ", tiny-99999999"));
    CHECK(explains(find_model_folder(disk, read_model_place("a", {})), "--hibernate-dir"));
}

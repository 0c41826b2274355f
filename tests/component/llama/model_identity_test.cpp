#include "llama_hibernate/llama/model_identity.hpp"

#include "catch.hpp"
#include "temporary_directory.hpp"

using hibernate::llama::identify_model;
using namespace hibernate::test;

TEST_CASE("the links of a download cache lead to the model") {
    const temporary_directory scratch;
    const auto disk = hibernate::make_real_disk();
    const auto blobs = scratch.path() / "blobs";
    const auto names = scratch.path() / "snapshots";
    std::filesystem::create_directories(blobs);
    std::filesystem::create_directories(names);
    write_file(blobs / "aa11", "first half of the weights");
    write_file(blobs / "bb22", "second half of the weights");
    std::filesystem::create_symlink("../blobs/aa11", names / "big-00001-of-00002.gguf");
    std::filesystem::create_symlink("../blobs/bb22", names / "big-00002-of-00002.gguf");

    const auto linked = identify_model(*disk, names / "big-00001-of-00002.gguf");
    REQUIRE(linked);
    write_file(scratch.path() / "big-00001-of-00002.gguf", "first half of the weights");
    write_file(scratch.path() / "big-00002-of-00002.gguf", "second half of the weights");
    CHECK(*identify_model(*disk, scratch.path() / "big-00001-of-00002.gguf") == *linked);
    write_file(blobs / "bb22", "second half of other ones");
    CHECK(*identify_model(*disk, names / "big-00001-of-00002.gguf") != *linked);
}

TEST_CASE("a model that cannot be read is an error and no identity") {
    const temporary_directory scratch;
    const auto disk = hibernate::make_real_disk();
    CHECK(identify_model(*disk, scratch.path() / "none.gguf").has_error());
    CHECK(identify_model(*disk, scratch.path()).has_error());
    std::filesystem::create_symlink("nowhere", scratch.path() / "dangling.gguf");
    CHECK(identify_model(*disk, scratch.path() / "dangling.gguf").has_error());
}

#include "llama_hibernate/store/size_estimate.hpp"

#include "catch.hpp"
#include "stored_snapshots.hpp"

using namespace hibernate::test;
using hibernate::store::estimate_size;
using hibernate::store::inventory;
using hibernate::store::stored_item;

namespace {

void add(
    inventory& stored,
    std::uint64_t tokens,
    std::uint64_t bytes,
    hibernate::store::signature signature = some_signature(),
    const std::string& directory = own_directory) {
    stored_item item;
    item.what = stored_item::kind::snapshot;
    item.directory = directory;
    item.manifest.emplace();
    item.manifest->tokens = tokens;
    item.bytes = bytes;
    item.manifest->signature = std::move(signature);
    stored.items.push_back(std::move(item));
}

std::optional<std::uint64_t>
estimate(const inventory& stored, std::optional<std::uint64_t> tokens) {
    return estimate_size(stored, own_directory, some_signature(), tokens);
}

} // namespace

TEST_CASE("two files tell the fixed part and the bytes of a token") {
    inventory stored;
    add(stored, 100, 1000 + 100 * 64);
    add(stored, 700, 1000 + 700 * 64);
    add(stored, 300, 1); // neither the fewest nor the most tokens
    for (const std::uint64_t tokens : {1, 100, 300, 700, 50'000}) {
        CHECK(estimate(stored, tokens) == 1000 + tokens * 64);
    }
}

TEST_CASE("a file that shrinks with its tokens has a fixed size at least") {
    inventory stored;
    add(stored, 100, 5000);
    add(stored, 200, 4000);
    CHECK(estimate(stored, 1000) == 5000);
}

TEST_CASE("one file alone grows with its tokens, eightfold at most") {
    inventory stored;
    add(stored, 100, 6400);
    CHECK(estimate(stored, 50) == 3200);
    CHECK(estimate(stored, 400) == 25'600);
    CHECK(estimate(stored, 100'000) == 8 * 6400);
    add(stored, 100, 6600); // as many tokens: no line leads through both
    CHECK(estimate(stored, 200) == 13'200);
}

TEST_CASE("without a number of tokens the largest file counts") {
    inventory stored;
    add(stored, 100, 500);
    add(stored, 200, 900);
    add(stored, 300, 700);
    CHECK(estimate(stored, std::nullopt) == 900);
}

TEST_CASE("only files of this model and signature count, or else of another build") {
    inventory stored;
    add(stored, 100, 1, some_signature(), other_directory);
    add(stored, 100, 2, {{{"build", "b1"}, {"streams", "1"}, {"cache-type-k", "q8_0"}}});
    CHECK_FALSE(estimate(stored, 100));
    CHECK_FALSE(estimate(stored, std::nullopt));
    add(stored, 100, 300, some_signature("b0"));
    CHECK(estimate(stored, 200) == 600);
    add(stored, 100, 400);
    CHECK(estimate(stored, 200) == 800);
}

TEST_CASE("broken and foreign items measure nothing") {
    inventory stored;
    add(stored, 100, 500);
    stored.items[0].what = stored_item::kind::broken;
    stored.items.emplace_back();
    CHECK_FALSE(estimate(stored, 100));
}

TEST_CASE("absurd numbers stay in range") {
    inventory stored;
    add(stored, 1, 1);
    add(stored, 2, std::uint64_t{1} << 62);
    CHECK(*estimate(stored, std::uint64_t{1} << 40) <= std::uint64_t{1} << 62);
    CHECK(*estimate(stored, 0) == 0);
}

#include "llama_hibernate/store/lineage.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "state_bytes.hpp"

using hibernate::llama::state_file_head;
using hibernate::llama::token;
using hibernate::store::token_chain;
using hibernate::test::token_run;

namespace {

/// Around the ends of the first links.
const std::vector<std::size_t> lengths{0, 1, 255, 256, 257, 511, 512, 513, 600};
const std::vector<std::size_t> positions{0, 1, 254, 255, 256, 257, 510, 511, 512, 513, 599};

state_file_head text(std::vector<token> tokens) {
    return {4, std::move(tokens), {}};
}

/// As publish() compares them: of the earlier one only the number of its tokens and the hash.
bool continues_by_hash(const state_file_head& later, const state_file_head& earlier) {
    return token_chain(later).continues(earlier.tokens.size(), token_chain(earlier).hash());
}

std::string hash_of(const state_file_head& head) {
    return token_chain(head).hash();
}

/// 600 tokens with an image of two positions.
state_file_head with_image(std::size_t position, std::int32_t picture) {
    state_file_head head = text(token_run(1, 600));
    head.tokens[position] = -1;
    head.tokens[position + 1] = -1;
    head.media = {1, 2, 4, picture};
    return head;
}

state_file_head first_of(state_file_head head, std::size_t count) {
    head.tokens.resize(count);
    return head;
}

} // namespace

TEST_CASE("a conversation continues what it begins with, and itself, and nothing longer") {
    for (const auto later : lengths) {
        for (const auto earlier : lengths) {
            CAPTURE(later, earlier);
            CHECK(
                continues_by_hash(text(token_run(1, later)), text(token_run(1, earlier))) ==
                (earlier <= later));
        }
    }
}

TEST_CASE("a conversation that took another turn continues only what came before it") {
    for (const auto turn : positions) {
        auto branch = token_run(1, 600);
        branch[turn] = 9999;
        for (const auto earlier : lengths) {
            CAPTURE(turn, earlier);
            CHECK(
                continues_by_hash(text(branch), text(token_run(1, earlier))) == (earlier <= turn));
        }
    }
}

TEST_CASE("tokens in another order, or moved by one, are another conversation") {
    for (const auto position : {0U, 100U, 255U, 300U, 598U}) {
        auto swapped = token_run(1, 600);
        std::swap(swapped[position], swapped[position + 1]);
        CHECK_FALSE(continues_by_hash(text(swapped), text(token_run(1, 600))));
    }
    for (const auto length : {1U, 255U, 256U, 512U, 600U}) {
        CHECK_FALSE(continues_by_hash(text(token_run(2, 600)), text(token_run(1, length))));
    }
    // Links that are alike one by one, but not in their order.
    auto there = token_run(1, 256);
    auto back = token_run(5000, 256);
    const auto first = there;
    there.insert(there.end(), back.begin(), back.end());
    back.insert(back.end(), first.begin(), first.end());
    CHECK_FALSE(continues_by_hash(text(there), text(back)));
}

TEST_CASE("media count as they do when the tokens themselves are compared") {
    const int cat = 77;
    const int dog = 88;
    for (const auto position :
         {std::size_t{10}, std::size_t{254}, std::size_t{255}, std::size_t{256}, std::size_t{400},
          std::size_t{598}}) {
        auto gained = with_image(position, cat);
        gained.media = {2, 2, 4, cat, 2, 4, dog};
        auto nothing_there = with_image(position, cat);
        nothing_there.media.clear();
        const state_file_head all[]{
            with_image(position, cat), with_image(position, dog), gained, nothing_there,
            text(token_run(1, 600))};
        for (const auto& later : all) {
            for (const auto& whole : all) {
                for (const auto count :
                     {position, position + 1, position + 2, std::size_t{256}, std::size_t{512},
                      std::size_t{600}}) {
                    CAPTURE(position, count, later.media, whole.media);
                    const auto earlier = first_of(whole, count);
                    CHECK(
                        continues_by_hash(later, earlier) ==
                        hibernate::llama::continues(later, earlier));
                }
            }
        }
    }
    CHECK(continues_by_hash(with_image(10, cat), first_of(with_image(10, cat), 300)));
    CHECK_FALSE(continues_by_hash(with_image(10, dog), first_of(with_image(10, cat), 300)));
    // Text before the first image is text.
    CHECK(continues_by_hash(with_image(400, dog), first_of(with_image(400, cat), 300)));
}

TEST_CASE("a hash is not taken for that of another number of tokens") {
    const auto head = text(token_run(1, 600));
    const token_chain chain(head);
    for (const auto length : lengths) {
        CHECK_FALSE(chain.continues(length, hash_of(text(token_run(2, 599)))));
        CHECK(chain.continues(length, chain.hash()) == (length == 600));
    }
    CHECK_FALSE(chain.continues(601, chain.hash()));
    CHECK_FALSE(chain.continues(std::uint64_t{1} << 40, chain.hash()));
    CHECK_FALSE(chain.continues(600, ""));
    std::set<std::string> hashes;
    for (std::size_t length = 0; length <= 600; ++length) {
        CHECK(hashes.insert(hash_of(first_of(head, length))).second);
    }
}

TEST_CASE("hashes in manifests that were written before stay what they are") {
    CHECK(hash_of(text(token_run(1, 1))) == "db02334e96d65708");
    CHECK(hash_of(text(token_run(1, 256))) == "dbde69913dbce1f6");
    CHECK(hash_of(text(token_run(1, 600))) == "0a03d5b588d818ba");
    CHECK(hash_of(with_image(300, 77)) == "5d6731d18241b76c");
}

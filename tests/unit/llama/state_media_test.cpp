#include "llama_hibernate/llama/state_media.hpp"

#include "catch.hpp"

using hibernate::llama::continues;
using hibernate::llama::media_of_first;
using hibernate::llama::state_file_head;
using hibernate::llama::token;

namespace {

using words = std::vector<std::int32_t>;

// Two images of seven bytes each. Between them llama-server leaves no gap: the second one's length
// begins within a word.
const words cat{7, 0x64636261, 0x00676665};
const words both{2, 1, 5, 7, 0x64636261, 0x07676665, 0x31000000, 0x35343332, 0x00003736};
const words both_other_dog{2, 1, 5, 7, 0x64636261, 0x07676665, 0x31000000, 0x35343332, 0x00003936};
const std::vector<token> about_both{7, -1, -1, 8, 9, -1, 6, 5};

state_file_head head_of(std::vector<token> tokens, words media) {
    return {4, std::move(tokens), std::move(media)};
}

const state_file_head first_image = head_of({7, -1, -1, 8}, {1, 1, cat[0], cat[1], cat[2]});
const state_file_head two_images = head_of(about_both, both);

} // namespace

TEST_CASE("media of the first tokens are those that a shorter conversation would have") {
    CHECK(media_of_first(two_images, 0).empty());
    CHECK(media_of_first(two_images, 1).empty());
    CHECK(media_of_first(two_images, 2) == first_image.media);
    CHECK(media_of_first(two_images, 5) == first_image.media);
    CHECK(media_of_first(two_images, 6) == two_images.media);
    CHECK(media_of_first(two_images, 100) == two_images.media);
    CHECK(media_of_first(first_image, 4) == first_image.media);
    CHECK(media_of_first(head_of({1, 2, 3}, {}), 3).empty());
}

TEST_CASE("a conversation that gains an image goes on, one with another image does not") {
    CHECK(continues(two_images, first_image));
    const auto other_dog = head_of(about_both, both_other_dog);
    CHECK(continues(other_dog, first_image));
    CHECK_FALSE(continues(other_dog, two_images));
    const auto other_cat = head_of({7, -1, -1, 8}, {1, 1, cat[0], cat[1], 0x00676666});
    CHECK_FALSE(continues(two_images, other_cat));
    // The same tokens, but what was one image of two is two of one.
    const auto split = head_of(
        {7, -1, -1, 8}, {2, 1, 2, cat[0], cat[1], 0x07676665, 0x31000000, 0x35343332, 0x3736});
    CHECK_FALSE(continues(split, first_image));
    CHECK_FALSE(continues(first_image, split));
}

TEST_CASE("media that are laid out in a way that we do not know count as a whole") {
    const words unknown[]{
        {},                                                              // none
        {2},                                                             // no places
        {3, 1, 5},                                                       // too few
        {-1, 1, 5, 0, 0},                                                // beyond all bounds
        {2, 1, 4, both[3], both[4], both[5], both[6], both[7], both[8]}, // at a word
        {2, 5, 1, both[3], both[4], both[5], both[6], both[7], both[8]}, // out of order
        {1, 1, 7, both[4], 0x00676665}, // one that tells nothing of the other
        {2, 1, 5, 7, both[4], 0x64676665, both[6], both[7], both[8]}, // longer than there is
        {2, 1, 5, 7, both[4], both[5], both[6], both[7], both[8], 0}, // something after it
        {3, 1, 5, 90, 0, 0, 0},                                       // after the end
    };
    for (const auto& media : unknown) {
        CAPTURE(media);
        const auto head = head_of(about_both, media);
        CHECK(media_of_first(head, 2) == media);
        CHECK(media_of_first(head, 1).empty());
        CHECK(continues(head, head));
        CHECK_FALSE(continues(head, two_images));
    }
}

// Which earlier snapshots a new one supersedes, and what it learns of how the conversation went on,
// where there are images.

#include "store_fixture.hpp"

using namespace hibernate::test;
using hibernate::llama::token;
using hibernate::store::continuation;
using hibernate::store::publication;

namespace {

struct medium {
    std::size_t position = 0;
    std::uint32_t content = 0;
};

/// A conversation of so many tokens with images of two tokens and four bytes each.
struct conversation {
    std::size_t tokens = 0;
    std::uint64_t prompt_tokens = 0;
    std::vector<medium> media;
    std::vector<token> last_words = {}; ///< in place of its last tokens

    std::string file() const {
        auto all = token_run(1, tokens);
        std::copy(last_words.rbegin(), last_words.rend(), all.rbegin());
        std::vector<std::uint32_t> section{static_cast<std::uint32_t>(media.size())};
        for (const auto& one : media) {
            all[one.position] = all[one.position + 1] = -1;
            section.push_back(static_cast<std::uint32_t>(one.position));
        }
        for (const auto& one : media) {
            section.push_back(4);
            section.push_back(one.content);
        }
        return state_head(packed_words(all, section)) + std::string(100, 'k');
    }
};

class shelf {
public:
    publication add(const conversation& what) {
        auto save = stage(disk_, *directory_, token_run(1, what.tokens));
        const auto content = what.file();
        disk_.put(store_path / save.staging_name, content);
        save.bytes = content.size();
        save.prompt_tokens = what.prompt_tokens;
        auto made = directory_->publish(save, at(1000));
        CHECK(made.problem.empty());
        REQUIRE(made.published);
        return made;
    }
    std::size_t size() const { return directory_->snapshots().size(); }

private:
    virtual_disk disk_;
    std::unique_ptr<hibernate::store::model_directory> directory_ = open_store(disk_);
};

constexpr std::uint32_t cat = 0x746163;
constexpr std::uint32_t dog = 0x676f64;

} // namespace

TEST_CASE("conversations that differ only in an image are both kept") {
    shelf here;
    here.add({300, 280, {{10, cat}}});
    const auto same_length = here.add({300, 280, {{10, dog}}});
    CHECK(same_length.superseded_ids.empty());
    const auto longer = here.add({400, 380, {{10, dog}}});
    CHECK(longer.superseded_ids.size() == 1);
    CHECK(longer.published->manifest.went_on == continuation::verbatim);
    CHECK(here.size() == 2);
}

TEST_CASE("a conversation that gains an image supersedes what it began with") {
    shelf here;
    here.add({300, 280, {{10, cat}}});
    const auto longer = here.add({400, 380, {{10, cat}, {320, dog}}});
    CHECK(longer.superseded_ids.size() == 1);
    CHECK(longer.published->manifest.went_on == continuation::verbatim);
    CHECK(here.size() == 1);
}

TEST_CASE("the same words about another image are no changed reply") {
    const conversation first{300, 280, {{10, cat}}, {}};
    const conversation changed{295, 292, {{10, cat}}, {9001, 9002, 9003, 9004, 9005}};
    auto other = changed;
    other.media = {{10, dog}};
    {
        shelf here;
        here.add(first);
        CHECK(here.add(changed).published->manifest.went_on == continuation::changed);
        CHECK(here.size() == 2);
    }
    shelf here;
    here.add(first);
    CHECK(here.add(other).published->manifest.went_on == continuation::unknown);
    CHECK(here.size() == 2);
}

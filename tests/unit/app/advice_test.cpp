#include "llama_hibernate/app/advice.hpp"

#include "catch.hpp"

using namespace hibernate;

namespace {

app::advice
advise(std::vector<std::string> arguments, const llama::environment_map& environment = {}) {
    return app::advise(llama::read_server_args(arguments, environment));
}

} // namespace

TEST_CASE("a plain model needs no advice") {
    CHECK(advise({"-m", "a.gguf"}).keep);
    CHECK(advise({"-m", "a.gguf"}).lines.empty());
    CHECK(advise({"-m", "a.gguf", "--cache-prompt"}).lines.empty());
}

TEST_CASE("where there is nothing to keep it is said why, and nothing is kept") {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"--port", "1"},
             {"-m", "a", "--embedding"},
             {"-m", "a", "--reranking"},
             {"-m", "a", "--cache-disk", "8192"},
             {"-m", "a", "--cache-dir=/x"}}) {
        const auto given = advise(arguments);
        CHECK_FALSE(given.keep);
        REQUIRE(given.lines.size() == 1);
        const auto& line = given.lines[0];
        const bool says_so = line.find("nothing is saved or restored: ") != std::string::npos ||
                             line.starts_with(app::nothing_is_kept);
        CHECK(says_so);
    }
    CHECK_FALSE(advise({"-m", "a"}, {{"LLAMA_ARG_EMBEDDINGS", "1"}}).keep);
}

TEST_CASE("where the model's folder cannot be used it is said why, and what to do") {
    CHECK(
        app::advise_on_folder("/c/a-00000000", "Read-only file system", false) ==
        "conversations are served, but neither saved nor restored: /c/a-00000000: Read-only file "
        "system; make it writable, or give another place with --hibernate-dir");
    const auto shared = app::advise_on_folder("/c/a-00000000", "Permission denied", true);
    CHECK(shared.ends_with("or give another place with --slot-save-path"));
    const auto second = app::advise_on_folder("/c/a-00000000", "", false);
    CHECK(second.find("another llama-hibernate of this model runs") != std::string::npos);
    CHECK(second.find("--hibernate-name") != std::string::npos);
}

TEST_CASE("what is kept without use is said") {
    for (const auto& given :
         {advise({"-m", "a", "--no-cache-prompt"}),
          advise({"-m", "a"}, {{"LLAMA_ARG_CACHE_PROMPT", "0"}})}) {
        CHECK(given.keep);
        CHECK(given.lines.size() == 1);
    }
}

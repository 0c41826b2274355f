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
        CHECK(given.lines[0].find("nothing is saved or restored") != std::string::npos);
    }
    CHECK_FALSE(advise({"-m", "a"}, {{"LLAMA_ARG_EMBEDDINGS", "1"}}).keep);
}

TEST_CASE("what is kept without use is said") {
    for (const auto& given :
         {advise({"-m", "a", "--no-cache-prompt"}),
          advise({"-m", "a"}, {{"LLAMA_ARG_CACHE_PROMPT", "0"}})}) {
        CHECK(given.keep);
        CHECK(given.lines.size() == 1);
    }
}

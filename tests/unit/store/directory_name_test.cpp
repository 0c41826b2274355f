#include <algorithm>

#include "catch.hpp"
#include "llama_hibernate/store/directory_name.hpp"

using hibernate::store::directory_name;

namespace {

/// Without the hyphen and the hash.
std::string readable(const std::string& name) {
    REQUIRE(name.size() > 9);
    CHECK(name[name.size() - 9] == '-');
    return name.substr(0, name.size() - 9);
}

} // namespace

TEST_CASE("a model's directory bears its name") {
    CHECK(readable(directory_name("/models/Qwen3-8B-Q4_K_M.gguf", "")) == "Qwen3-8B-Q4_K_M");
    CHECK(readable(directory_name("model.gguf", "")) == "model");
    CHECK(
        readable(directory_name("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", "")) ==
        "gemma-3-4b-it-GGUF_Q4_K_M");
    CHECK(readable(directory_name("/models/x.gguf", "my model")) == "my_model");
    CHECK(readable(directory_name("", "team/coder")) == "team_coder");
}

TEST_CASE("models of one file name in different places keep apart") {
    const auto one = directory_name("/a/model.gguf", "");
    CHECK(one != directory_name("/b/model.gguf", ""));
    CHECK(one == directory_name("/a/model.gguf", ""));
    CHECK(directory_name("/a/model.gguf", "a:b") != directory_name("/a/model.gguf", "a/b"));
    // A given name holds whatever the model is.
    CHECK(directory_name("/a/model.gguf", "coder") == directory_name("/b/other.gguf", "coder"));
}

TEST_CASE("no name can leave the root, hide, or look like an option") {
    for (const std::string& hostile :
         {std::string(".."), std::string("../../etc"), std::string("/"), std::string("."),
          std::string(".hidden"), std::string("-rf"), std::string("a\0b", 3), std::string("a\nb"),
          std::string("a..b"), std::string(" "), std::string("\xff\xfe"), std::string("模型"),
          std::string("C:\\models\\x"), std::string(5000, 'x'), std::string(5000, '/'),
          std::string("*?<>|\"")}) {
        for (const auto& name : {directory_name(hostile, ""), directory_name("m", hostile)}) {
            CHECK(name.size() <= 80);
            CHECK(name.find("..") == std::string::npos);
            CHECK(name.front() != '.');
            CHECK(name.front() != '-');
            CHECK(std::all_of(name.begin(), name.end(), [](char byte) {
                return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_';
            }));
            readable(name);
        }
    }
    CHECK(readable(directory_name("", "")) == "model");
}

#include "llama_hibernate/app/child_facts.hpp"

#include "catch.hpp"

using namespace hibernate;

namespace {

store::signature signature_of(
    const std::vector<std::string>& arguments,
    int slots = 4,
    const std::string& build = "b1",
    const std::string& identity = "abc") {
    llama::properties props;
    props.total_slots = slots;
    props.build = build;
    props.model_path = "/models/a.gguf";
    const auto args = llama::read_server_args(arguments, {});
    return app::describe_child(args, props, identity).signature;
}

} // namespace

TEST_CASE("the signature differs where a saved slot would mean something else") {
    const auto base = signature_of({"-m", "a.gguf"});
    CHECK(
        base ==
        signature_of({"-m", "moved/a.gguf", "--port", "1", "-t", "7", "-c", "9", "-b", "64"}));
    CHECK(base == signature_of({"-m", "a.gguf", "-fa", "auto"}));
    for (const auto& other :
         {signature_of({"-m", "a.gguf", "-ctk", "q8_0"}),
          signature_of({"-m", "a.gguf", "-ctv", "q8_0"}),
          signature_of({"-m", "a.gguf", "-fa", "off"}), signature_of({"-m", "a.gguf", "-np", "4"}),
          signature_of({"-m", "a.gguf"}, 4, "b2"), signature_of({"-m", "a.gguf"}, 4, "b1", "xyz"),
          signature_of({"-m", "a.gguf", "--lora", "l"}),
          signature_of({"-m", "a.gguf", "--rope-freq-base", "5"})}) {
        CHECK(base != other);
        CHECK(base.hash() != other.hash());
        INFO(store::explain_difference(base, other));
        CHECK_FALSE(store::explain_difference(base, other).empty());
    }
}

TEST_CASE("slot counts are interchangeable where the KV cache is one stream") {
    CHECK(signature_of({"-m", "a.gguf"}, 4) == signature_of({"-m", "a.gguf", "-np", "1"}, 1));
    CHECK(
        signature_of({"-m", "a.gguf", "-np", "2"}, 2) !=
        signature_of({"-m", "a.gguf", "-np", "3"}, 3));
}

#include "llama_hibernate/app/child_facts.hpp"

#include "catch.hpp"
#include "virtual_disk.hpp"

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
    app::file_identities identities;
    identities.by_path[props.model_path] = identity;
    for (const auto& file : args.state_files) {
        identities.by_path[file.path] = "content of " + file.path;
    }
    return app::describe_child(args, props, identities).signature;
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
          signature_of({"-m", "a.gguf", "--lora-scaled", "l:0.5"}),
          signature_of({"-m", "a.gguf", "--control-vector", "v"}),
          signature_of({"-m", "a.gguf", "-mm", "p"}), signature_of({"-m", "a.gguf", "-md", "d"}),
          signature_of({"-m", "a.gguf", "--swa-full"}),
          signature_of({"-m", "a.gguf", "-sm", "row"}),
          signature_of({"-m", "a.gguf", "--rope-scaling", "yarn"}),
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

TEST_CASE("files count by what is in them and by their scales, not by their names") {
    test::virtual_disk disk;
    disk.put("/m/a.gguf", "model");
    disk.put("/m/one.gguf", "adapter");
    disk.put("/m/same.gguf", "adapter");
    disk.put("/m/other.gguf", "another");
    const auto signature = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"-m", "/m/a.gguf"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto args = llama::read_server_args(arguments, {});
        llama::properties props;
        props.total_slots = 1;
        props.model_path = "/m/a.gguf";
        const auto identities = app::identify_files(disk, args, props, {});
        CHECK(identities.problem.empty());
        return app::describe_child(args, props, identities).signature;
    };
    for (const std::string option : {"--lora", "--control-vector", "-md", "-mm"}) {
        CHECK(signature({option, "/m/one.gguf"}) == signature({option, "/m/same.gguf"}));
        CHECK(signature({option, "/m/one.gguf"}) != signature({option, "/m/other.gguf"}));
        CHECK(signature({option, "/m/one.gguf"}) != signature({}));
    }
    CHECK(
        signature({"--lora-scaled", "/m/one.gguf:0.5"}) ==
        signature({"--lora-scaled", "/m/same.gguf:0.50"}));
    CHECK(
        signature({"--lora-scaled", "/m/one.gguf:0.5"}) !=
        signature({"--lora-scaled", "/m/one.gguf:1"}));
    CHECK(
        signature({"--lora", "/m/one.gguf,/m/other.gguf"}) != signature({"--lora", "/m/one.gguf"}));

    const auto before = signature({"--lora", "/m/one.gguf"});
    disk.put("/m/one.gguf", "adapteR");
    CHECK(signature({"--lora", "/m/one.gguf"}) != before);
}

TEST_CASE("a file that was replaced while it was loaded is told, whatever it is for") {
    test::virtual_disk disk;
    disk.put("/m/a-00001-of-00002.gguf", "model");
    disk.put("/m/a-00002-of-00002.gguf", "rest");
    disk.put("/m/one.gguf", "adapter");
    const auto args =
        llama::read_server_args({"-m", "/m/a-00001-of-00002.gguf", "--lora", "/m/one.gguf"}, {});
    llama::properties props;
    props.model_path = "/m/a-00001-of-00002.gguf";
    const auto before = app::note_versions(disk, args);
    CHECK(before.size() == 3);
    CHECK(app::identify_files(disk, args, props, before).problem.empty());
    for (const auto& [path, version] : before) {
        const auto content = disk.content(path);
        disk.put(path, "another");
        const auto problem = app::identify_files(disk, args, props, before).problem;
        CHECK(problem.find(path + " was replaced while llama-server loaded it") == 0);
        disk.put(path, content);
    }
    CHECK(app::identify_files(disk, args, props, before).problem.empty());
}

TEST_CASE("a file that cannot be read is named") {
    test::virtual_disk disk;
    disk.put("/m/a.gguf", "model");
    llama::properties props;
    props.model_path = "/m/a.gguf";
    const auto args = llama::read_server_args({"-m", "/m/a.gguf", "--lora", "/m/none"}, {});
    CHECK(app::identify_files(disk, args, props, {}).problem.find("/m/none cannot be read: ") == 0);
    props.model_path = "/m/gone.gguf";
    CHECK(
        app::identify_files(disk, args, props, {}).problem.find("/m/gone.gguf cannot be read: ") ==
        0);
}

TEST_CASE("any build will do if its slot files have the same version") {
    llama::properties props;
    props.build = "b2";
    props.model_path = "a";
    auto facts =
        app::describe_child(llama::read_server_args({}, {}), props, {{{"a", "abc"}}, {}, {}});
    app::accept_any_build(facts, 4);
    auto saved = facts.signature;
    saved.parts["build"] = "b1";
    CHECK(store::compatible(saved, facts.signature));
    saved.parts["state-version"] = "3";
    CHECK_FALSE(store::compatible(saved, facts.signature));
}

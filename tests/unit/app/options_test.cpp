#include "llama_hibernate/app/options.hpp"

#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "llama_hibernate/base/error.hpp"
#include "temporary_directory.hpp"

using namespace hibernate;
using namespace std::chrono_literals;
using app::mode;
using app::options;
using llama::environment_map;
using test::temporary_directory;
using arguments = std::vector<std::string>;

namespace {

const environment_map at_home{{"HOME", "/home/ada"}};

options read(const arguments& given, const environment_map& environment = at_home) {
    return app::read_options(given, environment, {});
}

std::string refusal(
    const arguments& given,
    const environment_map& environment = at_home,
    const std::filesystem::path& system_file = {}) {
    try {
        app::read_options(given, environment, system_file);
    } catch (const startup_error& error) {
        CHECK(error.status() == 2);
        return error.what();
    }
    return "no error";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Returns the path; missing directories on the way to it are made.
std::string
write(const temporary_directory& directory, const std::string& name, const std::string& content) {
    const std::filesystem::path file = directory.path() / name;
    std::filesystem::create_directories(file.parent_path());
    test::write_file(file, content);
    return file.string();
}

} // namespace

TEST_CASE("options: store takes its own arguments, and ours wherever they stand") {
    const auto read_store =
        read({"--hibernate-dir", "/s", "store", "rm", "--all", "--hibernate-max-disk=1KiB"});
    CHECK(read_store.mode == mode::store);
    CHECK(read_store.command_arguments == arguments{"rm", "--all"});
    CHECK(read_store.root == "/s");
    CHECK(read_store.max_disk == 1024);
    CHECK(read({"store"}).command_arguments.empty());
    CHECK(read({"store", "--help"}).command_arguments == arguments{"--help"});
    const auto status = read({"status", "--json", "--hibernate-dir", "/a", "unix:/b.sock"});
    CHECK(status.mode == mode::status);
    CHECK(status.command_arguments == arguments{"--json", "unix:/b.sock"});
    CHECK(status.root == "/a");
    CHECK(read({"run", "status", "-m", "a.gguf"}).server == "status");
    // Whoever has a llama-server of that name can say so.
    CHECK(read({"run", "store", "-m", "a"}).server == "store");
    CHECK(read({"./ls", "-m", "a"}).server == "./ls");
    CHECK(contains(refusal({"rm", "--all"}), "did you mean \"llama-hibernate store rm\"?"));
    CHECK(contains(refusal({"--llama-binary", "/a", "-m", "b"}), "llama-save-wrapper"));
}

TEST_CASE("options: defaults") {
    const options result = read({"-m", "a.gguf"});
    CHECK(result.mode == mode::run);
    CHECK(result.root == "/home/ada/.cache/llama-hibernate");
    CHECK(result.name.empty());
    CHECK(result.server.empty());
    CHECK(result.max_disk == 16ULL << 30);
    CHECK(result.min_free == 2ULL << 30);
    CHECK(result.stop_budget == 8s);
    CHECK(result.drain == 1s);
    CHECK(result.restore == app::restore_extent::all);
    CHECK_FALSE(result.restore_memory);
    CHECK(result.adopt.empty());
    CHECK(result.idle_save == 3s);
    CHECK(result.min_tokens == 256);
    CHECK(result.write_budget == 0);
    CHECK(result.restore_budget == 10s);
    CHECK(result.health_hold == 4s);
    CHECK(result.max_connections == 1024);
    CHECK_FALSE(result.any_build);
    CHECK_FALSE(result.half_close_keeps);
    CHECK_FALSE(result.restart_on_exit);
    CHECK(result.log_level == log::level::info);
    CHECK(result.log_format == log::format::text);
    CHECK(result.server_arguments == arguments{"-m", "a.gguf"});
    CHECK(result.remarks.empty());
}

TEST_CASE("options: every option is set from the command line, in both spellings") {
    const bool with_equals = GENERATE(false, true);
    const std::vector<std::pair<std::string, std::string>> given{
        {"dir", "/store"},          {"name", "qwen/32b"},     {"server", "/opt/llama-server"},
        {"stop-budget", "20s"},     {"drain", "0"},           {"restore", "none"},
        {"restore-budget", "1m"},   {"health-hold", "250ms"}, {"max-connections", "7"},
        {"restore-memory", "1GiB"}, {"idle-save", "0"},       {"min-tokens", "1"},
        {"internal", "unix"},       {"compat", "format"},     {"half-close", "keep"},
        {"on-exit", "restart"},     {"log-level", "debug"},   {"max-disk", "1.5GiB"},
        {"min-free", "0"},          {"log-format", "json"},   {"adopt", "/slots"},
    };
    arguments line{"-m", "a.gguf"};
    for (const auto& [name, value] : given) {
        if (with_equals) {
            line.push_back("--hibernate-" + name + "=" + value);
        } else {
            line.insert(line.end(), {"--hibernate-" + name, value});
        }
    }
    const options result = read(line);
    CHECK(result.root == "/store");
    CHECK(result.name == "qwen/32b");
    CHECK(result.server == "/opt/llama-server");
    CHECK(result.max_disk == 3ULL << 29);
    CHECK(result.min_free == 0);
    CHECK(result.stop_budget == 20s);
    CHECK(result.drain == 0s);
    CHECK(result.restore == app::restore_extent::none);
    CHECK(result.restore_budget == 60s);
    CHECK(result.health_hold == 250ms);
    CHECK(result.max_connections == 7);
    CHECK(result.restore_memory == std::uint64_t{1} << 30);
    CHECK(result.idle_save == 0s);
    CHECK(result.min_tokens == 1);
    CHECK(result.any_build);
    CHECK(result.half_close_keeps);
    CHECK(result.restart_on_exit);
    CHECK(result.log_level == log::level::debug);
    CHECK(result.log_format == log::format::json);
    CHECK(result.adopt == "/slots");
    CHECK(result.server_arguments == arguments{"-m", "a.gguf"});
}

TEST_CASE("options: SERVER and what goes to it") {
    struct line {
        arguments given;
        std::string server;
        arguments passed;
    };
    const line test = GENERATE(
        line{{"-m", "a.gguf"}, "", {"-m", "a.gguf"}},
        line{{"/opt/llama-server", "-m", "a"}, "/opt/llama-server", {"-m", "a"}},
        line{{"run", "llama-server", "-m", "a"}, "llama-server", {"-m", "a"}},
        line{{"run", "-m", "run"}, "", {"-m", "run"}},
        line{{"run", "run", "-m", "a"}, "run", {"-m", "a"}},
        line{{"--", "srv", "-m", "a"}, "srv", {"-m", "a"}},
        line{{"--hibernate-name", "x", "--", "srv", "--", "b"}, "srv", {"--", "b"}},
        line{{"--", "-m", "a"}, "", {"-m", "a"}},
        line{{"--hibernate-name", "x", "srv", "-m", "a"}, "srv", {"-m", "a"}},
        line{{"srv", "-m", "a", "--hibernate-name=x", "b c", ""}, "srv", {"-m", "a", "b c", ""}},
        line{{"~/bin/srv", "-m", "~/a"}, "/home/ada/bin/srv", {"-m", "~/a"}},
        // Only our whole prefix is ours.
        line{
            {"-m", "a", "--hibernate", "hibernate-x"},
            "",
            {"-m", "a", "--hibernate", "hibernate-x"}},
        line{{"--hibernate-server", "b", "a", "-v"}, "a", {"-v"}},
        line{{"srv", "-r", "\xff\n=", "-r", "é"}, "srv", {"-r", "\xff\n=", "-r", "é"}});
    CAPTURE(test.given);
    const options result = read(test.given);
    CHECK(result.mode == mode::run);
    CHECK(result.server == test.server);
    CHECK(result.server_arguments == test.passed);
}

TEST_CASE("options: help and version are ours only when they stand alone") {
    struct line {
        arguments given;
        mode wanted;
    };
    const line test = GENERATE(
        line{{"--help"}, mode::help}, line{{"-h"}, mode::help}, line{{"--version"}, mode::version},
        line{{"run", "--help"}, mode::help}, line{{"--hibernate-dir", "/x", "--help"}, mode::help},
        line{{"llama-server", "--help"}, mode::run}, line{{"-m", "a", "--help"}, mode::run},
        line{{"--help", "--version"}, mode::run}, line{{"--", "--help"}, mode::run},
        line{{"llama-server", "--version"}, mode::run}, line{{"--usage"}, mode::run});
    CAPTURE(test.given);
    // Nothing that is wrong elsewhere keeps a user from the help.
    const options result = test.wanted == mode::run
                               ? read(test.given)
                               : read(test.given, {{"LLAMA_HIBERNATE_DRAIN", "soon"}});
    CHECK(result.mode == test.wanted);
}

TEST_CASE("options: with nothing at all it says where the help is") {
    CHECK(contains(refusal({}), "--help"));
    CHECK(contains(refusal({"run"}), "--help"));
    // llama-server can be configured by its environment alone.
    CHECK(read({}, {{"HOME", "/h"}, {"LLAMA_ARG_MODEL", "a"}}).server_arguments.empty());
    CHECK(read({"llama-server"}).server == "llama-server");
}

TEST_CASE("options: bad values name the option, what was read and what is allowed") {
    struct line {
        arguments given;
        std::vector<std::string> parts;
    };
    const line test = GENERATE(
        line{{"--hibernate-drain", "soon"}, {"--hibernate-drain ", "\"soon\"", "500ms"}},
        line{{"--hibernate-drain=-1s"}, {"--hibernate-drain ", "\"-1s\"", "500ms"}},
        line{{"--hibernate-stop-budget="}, {"--hibernate-stop-budget ", "\"\""}},
        line{
            {"--hibernate-restore", "some"},
            {"--hibernate-restore ", "\"some\"", "all, slots or none"}},
        line{{"--hibernate-log-level", "warn"}, {"\"warn\"", "debug, info, warning, error or off"}},
        line{{"--hibernate-log-format", "xml"}, {"\"xml\"", "text or json"}},
        line{{"--hibernate-print-config=yes"}, {"--hibernate-print-config takes no value"}},
        line{{"--hibernate-compat", "any"}, {"\"any\"", "build or format"}},
        line{{"--hibernate-internal", "udp"}, {"\"udp\"", "tcp or unix"}},
        line{{"--hibernate-half-close", "no"}, {"\"no\"", "abort or keep"}},
        line{{"--hibernate-on-exit", "stop"}, {"\"stop\"", "exit or restart"}},
        line{{"--hibernate-max-connections", "0"}, {"\"0\"", "from 1 to"}},
        line{{"--hibernate-max-connections", "12x"}, {"\"12x\"", "whole number"}},
        line{{"--hibernate-max-connections", "99999999999999999999"}, {"whole number"}},
        line{{"--hibernate-max-disk", "lots"}, {"--hibernate-max-disk ", "\"lots\"", "16GiB"}},
        line{{"--hibernate-min-free=-1"}, {"--hibernate-min-free ", "\"-1\"", "bytes"}},
        line{{"--hibernate-dir="}, {"--hibernate-dir ", "not empty"}},
        line{{"--hibernate-config="}, {"--hibernate-config ", "path"}},
        line{{""}, {"first argument is empty"}});
    CAPTURE(test.given);
    arguments given = test.given;
    given.insert(given.end(), {"-m", "a"});
    const std::string sentence = refusal(given);
    CAPTURE(sentence);
    for (const std::string& part : test.parts) {
        CHECK(contains(sentence, part));
    }
}

TEST_CASE("options: a forgotten value does not swallow llama-server's arguments") {
    CHECK(contains(refusal({"-m", "a", "--hibernate-dir"}), "--hibernate-dir needs a value"));
    const std::string sentence = refusal({"--hibernate-dir", "-m", "a.gguf"});
    CHECK(contains(sentence, "--hibernate-dir needs a value"));
    CHECK(contains(sentence, "--hibernate-dir=-m"));
    CHECK(read({"--hibernate-dir=-m", "a.gguf"}).root.filename() == "-m");
    // Only the first = divides.
    CHECK(read({"--hibernate-name=a=b", "-v"}).name == "a=b");
}

TEST_CASE("options: an unknown option is an error with the nearest right name") {
    struct line {
        std::string given;
        std::string part;
    };
    const line test = GENERATE(
        line{"--hibernate-stopbudget", "did you mean --hibernate-stop-budget?"},
        line{"--hibernate-stop_budget=3s", "did you mean --hibernate-stop-budget?"},
        line{"--hibernate-darin", "did you mean --hibernate-drain?"},
        line{"--hibernate-directory", "--hibernate-directory"},
        line{"--hibernate-quux-quux", "--help"}, line{"--hibernate-", "--help"},
        line{"--hibernate-DIR", "--hibernate-DIR"});
    CAPTURE(test.given);
    const std::string sentence = refusal({"srv", test.given, "-m", "a"});
    CAPTURE(sentence);
    CHECK(contains(sentence, "There is no option"));
    CHECK(contains(sentence, test.part));
}

TEST_CASE("options: command line over environment over file over default") {
    const temporary_directory directory;
    const std::string file = write(
        directory, "config.json",
        R"({"drain": "3s", "stop-budget": 30, "health-hold": 1.5, "restore": "none",
                           "max-connections": 12, "name": "from file", "log-level": "off"})");
    environment_map environment = at_home;
    environment["LLAMA_HIBERNATE_CONFIG"] = file;
    environment["LLAMA_HIBERNATE_DRAIN"] = "2s";
    environment["LLAMA_HIBERNATE_MAX_CONNECTIONS"] = "34";
    environment["LLAMA_HIBERNATE_LOG_LEVEL"] = ""; // as if it were not set
    const options result = read({"-m", "a", "--hibernate-max-connections", "56"}, environment);
    CHECK(result.max_connections == 56);
    CHECK(result.drain == 2s);
    CHECK(result.stop_budget == 30s);
    CHECK(result.health_hold == 1500ms);
    CHECK(result.name == "from file");
    CHECK(result.log_level == log::level::off);
    CHECK(result.restore_budget == 10s);

    SECTION("repeated, the last one counts") {
        const arguments twice{"--hibernate-drain", "1", "-v", "--hibernate-drain=9"};
        CHECK(read(twice, environment).drain == 9s);
    }
    SECTION("SERVER outweighs the option that names it") {
        environment["LLAMA_HIBERNATE_SERVER"] = "/env/server";
        CHECK(read({"-v"}, environment).server == "/env/server");
        CHECK(read({"/my/server", "-v"}, environment).server == "/my/server");
    }
}

TEST_CASE("options: messages name the variable or the key that was wrong") {
    environment_map environment = at_home;
    environment["LLAMA_HIBERNATE_STOP_BUDGET"] = "never";
    const std::string sentence = refusal({"-v"}, environment);
    CHECK(contains(sentence, "LLAMA_HIBERNATE_STOP_BUDGET "));
    CHECK(contains(sentence, "\"never\""));

    const temporary_directory directory;
    const std::string file = write(directory, "c.json", R"({"drain": true})");
    const std::string from_file = refusal({"--hibernate-config", file, "-v"});
    CHECK(contains(from_file, "\"drain\" in " + file));
    CHECK(contains(from_file, "\"true\""));
}

TEST_CASE("options: a configuration file that is wrong says where") {
    struct content {
        std::string text;
        std::string part;
    };
    const content test = GENERATE(
        content{"{\n  \"drain\": 1s\n}", "line 2, column 13"}, content{"", "line 1, column 1"},
        content{"{\"drain\": \"1s\"", "not valid JSON"}, content{"[]", "JSON object"},
        content{"{\"darin\": 1}", "did you mean \"drain\"?"},
        content{"{\"--hibernate-dir\": 1}", "\"--hibernate-dir\""},
        content{"{\"quux-quux\": 1}", "--help"}, content{"{\"config\": \"x\"}", "\"config\""},
        content{"// {\n{\"drain\": 1s}", "line 2, column 12"}, content{"/* {\"drain\": 1}", "JSON"},
        content{"{\"print-config\": true}", "for the command line"},
        content{"{\"drain\": null}", "\"drain\""}, content{"{\"drain\": [1]}", "neither a string"},
        content{"{\"dir\": \"\\u0000x\"}", "\"dir\""}, content{"{\"drain\": -1}", "\"-1\""});
    CAPTURE(test.text);
    const temporary_directory directory;
    const std::string file = write(directory, "c.json", test.text);
    const std::string sentence = refusal({"--hibernate-config=" + file, "-v"});
    CAPTURE(sentence);
    CHECK(contains(sentence, file));
    CHECK(contains(sentence, test.part));
}

TEST_CASE("options: which configuration file is read") {
    const temporary_directory directory;
    const std::string system = write(directory, "etc/config.json", R"({"name": "system"})");
    environment_map environment{{"HOME", directory.path().string()}};

    SECTION("none that is not there") {
        CHECK(
            app::read_options({"-v"}, environment, directory.path().string() + "/no").name.empty());
    }
    SECTION("the system's") {
        CHECK(app::read_options({"-v"}, environment, system).name == "system");
    }
    SECTION("the user's own before it") {
        write(directory, ".config/llama-hibernate/config.json", R"({"name": "home"})");
        CHECK(app::read_options({"-v"}, environment, system).name == "home");
        write(directory, "xdg/llama-hibernate/config.json", R"({"name": "xdg"})");
        environment["XDG_CONFIG_HOME"] = directory.path().string() + "/xdg";
        CHECK(app::read_options({"-v"}, environment, system).name == "xdg");
    }
    SECTION("the one that is named before all, the command line's before the variable's") {
        write(directory, "a.json", R"({"name": "a"})");
        const std::string b = write(directory, "b.json", R"({"name": "b"})");
        environment["LLAMA_HIBERNATE_CONFIG"] = "~/a.json";
        CHECK(app::read_options({"-v"}, environment, system).name == "a");
        const arguments named{"-v", "--hibernate-config", b};
        CHECK(app::read_options(named, environment, system).name == "b");
    }
    SECTION("one that is named must be there, and be a file") {
        const std::string missing = directory.path().string() + "/missing.json";
        const std::string sentence = refusal({"-v", "--hibernate-config", missing});
        CHECK(contains(sentence, missing));
        CHECK(contains(sentence, "No such file"));
        const std::string a_directory =
            refusal({"-v", "--hibernate-config", directory.path().string()}, environment);
        CHECK(contains(a_directory, "directory"));
    }
    SECTION("one that is broken is an error even if nobody named it") {
        const std::string broken = write(directory, "broken.json", "{");
        CHECK(contains(refusal({"-v"}, environment, broken), broken));
    }
}

TEST_CASE("options: a configuration file may have comments") {
    const temporary_directory directory;
    const std::string file =
        write(directory, "c.json", "// ours\n{ /* \"drain\": 7, */ \"drain\": 3 // seconds\n}\n");
    CHECK(read({"-v", "--hibernate-config", file}).drain == 3s);
}

TEST_CASE("options: every value is known with where it comes from") {
    const temporary_directory directory;
    const std::string file =
        write(directory, "c.json", R"({"drain": 3, "max-disk": "1GiB", "dir": "~/kv"})");
    environment_map environment = at_home;
    environment["LLAMA_HIBERNATE_CONFIG"] = file;
    environment["LLAMA_HIBERNATE_DRAIN"] = "2s";
    environment["LLAMA_HIBERNATE_MIN_FREE"] = "1GiB";
    const options result = read(
        {"--hibernate-min-free", "0", "--hibernate-print-config", "/opt/llama-server", "-m", "a"},
        environment);
    CHECK(result.mode == mode::print_configuration);
    const auto is = [&](std::string_view name, const std::string& value,
                        const std::string& source) {
        CAPTURE(name);
        const auto one = std::ranges::find(result.settings, name, &app::setting::name);
        REQUIRE(one != result.settings.end());
        CHECK(one->value == value);
        CHECK(one->source == source);
    };
    is("stop-budget", "8s", "default");
    is("max-disk", "1GiB", "file " + file);
    is("dir", "/home/ada/kv", "file " + file);
    is("drain", "2s", "environment LLAMA_HIBERNATE_DRAIN");
    is("config", file, "environment LLAMA_HIBERNATE_CONFIG");
    is("min-free", "0", "command line");
    is("server", "/opt/llama-server", "command line");
    CHECK(contains(app::configuration_text(result), "\nmin-free         0 "));
    CHECK(std::ranges::count(result.settings, "print-config", &app::setting::name) == 0);

    SECTION("and nothing is run, but what is wrong is said") {
        CHECK(contains(refusal({"--hibernate-print-config", "--hibernate-drain", "x"}), "\"x\""));
        CHECK(read({"--hibernate-print-config"}).mode == mode::print_configuration);
    }
    SECTION("the place of the conversations is told as it is, wherever one looks from") {
        const auto relative = read({"--hibernate-dir", "./kv/../cache/", "-v"});
        CHECK(relative.root == std::filesystem::current_path() / "cache");
        CHECK(relative.settings.front().value == relative.root.string());
        CHECK(relative.settings.front().source == "command line");
        CHECK(relative.root_is_named);
        CHECK(read({"-v"}, {{"LLAMA_HIBERNATE_DIR", "/x"}}).root_is_named);
    }
    SECTION("the place of the conversations is told where nobody named it") {
        const auto plain = read({"-v"});
        CHECK(plain.settings.front().name == "dir");
        CHECK_FALSE(plain.root_is_named);
        CHECK(plain.settings.front().value == "/home/ada/.cache/llama-hibernate");
        CHECK(plain.settings.front().source == "default");
    }
}

TEST_CASE("options: where the conversations are kept") {
    struct place {
        environment_map environment;
        std::string root;
    };
    const place test = GENERATE(
        place{{{"HOME", "/h"}}, "/h/.cache/llama-hibernate"},
        place{{{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}, "/c/llama-hibernate"},
        place{{{"HOME", "/h"}, {"XDG_CACHE_HOME", "rel"}}, "/h/.cache/llama-hibernate"},
        place{{{"HOME", "/h"}, {"XDG_CACHE_HOME", ""}}, "/h/.cache/llama-hibernate"},
        place{{{"XDG_CACHE_HOME", "/c"}, {"CACHE_DIRECTORY", "/var/cache/x"}}, "/var/cache/x"},
        place{{{"CACHE_DIRECTORY", "/var/cache/x:/var/cache/y"}}, "/var/cache/x"},
        place{{{"HOME", "/h"}, {"LLAMA_HIBERNATE_DIR", "~/kv"}}, "/h/kv"},
        place{{{"HOME", "/h"}, {"LLAMA_HIBERNATE_DIR", "~other/kv"}}, "~other/kv"},
        place{{{"LLAMA_HIBERNATE_DIR", "relative"}}, "relative"});
    CAPTURE(test.root);
    CHECK(read({"-v"}, test.environment).root == std::filesystem::absolute(test.root));
}

TEST_CASE("options: with no place for the conversations there is none, which may do") {
    CHECK(read({"-v"}, {}).root.empty());
    CHECK(read({"-v"}, {{"HOME", ""}}).root.empty());
    const std::string no_home = refusal({"-v", "--hibernate-dir", "~/x"}, {});
    CHECK(contains(no_home, "--hibernate-dir"));
    CHECK(contains(no_home, "HOME"));
}

TEST_CASE("options: a variable with our prefix that is no option is remarked upon") {
    environment_map environment = at_home;
    environment["LLAMA_HIBERNATE_STOPBUDGET"] = "1s";
    environment["LLAMA_HIBERNATE_QUUX_QUUX"] = "1s";
    environment["LLAMA_HIBERNATE_NAME"] = "x";
    const options result = read({"-v"}, environment);
    REQUIRE(result.remarks.size() == 2);
    CHECK(contains(result.remarks[0], "LLAMA_HIBERNATE_QUUX_QUUX"));
    CHECK(contains(result.remarks[1], "did you mean LLAMA_HIBERNATE_STOP_BUDGET?"));
}

TEST_CASE("options: the help names every option in all three places") {
    const std::string help = app::help_text();
    for (const std::string name :
         {"dir",         "name",       "server",         "max-disk",    "min-free",
          "stop-budget", "drain",      "restore",        "boundary",    "restore-memory",
          "idle-save",   "min-tokens", "restore-budget", "health-hold", "max-connections",
          "internal",    "compat",     "half-close",     "on-exit",     "log-level",
          "log-format",  "adopt"}) {
        CAPTURE(name);
        CHECK(contains(help, "--hibernate-" + name + " "));
        CHECK(contains(help, "\"" + name + "\""));
    }
    CHECK(contains(help, "LLAMA_HIBERNATE_STOP_BUDGET"));
    CHECK(contains(help, "--hibernate-config FILE"));
    CHECK_FALSE(contains(help, "\"config\""));
    CHECK(contains(help, "--hibernate-print-config\n"));
    CHECK_FALSE(contains(help, "PRINT_CONFIG"));
    CHECK(contains(help, "~/"));
    CHECK(help.back() == '\n');
}

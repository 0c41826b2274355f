#include "llama_hibernate/llama/server_args.hpp"

#include <algorithm>

#include "catch.hpp"
#include "llama_hibernate/base/error.hpp"
#include "temporary_directory.hpp"

using namespace hibernate;
using llama::environment_map;
using llama::server_args;
using test::temporary_directory;
using arguments = std::vector<std::string>;
using state = std::map<std::string, std::string>;

namespace {

server_args read(const arguments& given, const environment_map& environment = {}) {
    return llama::read_server_args(given, environment);
}

std::string refusal(const arguments& given, const environment_map& environment = {}) {
    try {
        llama::read_server_args(given, environment);
    } catch (const startup_error& error) {
        CHECK(error.status() == 2);
        return error.what();
    }
    return "no error";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string
write(const temporary_directory& directory, const std::string& name, const std::string& content) {
    const std::filesystem::path file = directory.path() / name;
    test::write_file(file, content);
    return file.string();
}

} // namespace

TEST_CASE("server_args: nothing given") {
    const server_args args = read({});
    CHECK(args.hosts.empty());
    CHECK_FALSE(args.port);
    CHECK_FALSE(args.reuse_port);
    CHECK(args.ssl_key_file.empty());
    CHECK(args.slot_save_path.empty());
    CHECK(args.api_keys.empty());
    CHECK(args.api_prefix.empty());
    CHECK(args.model.empty());
    CHECK_FALSE(args.prints_and_exits);
    CHECK_FALSE(args.parallel);
    CHECK(args.kv_unified);
    CHECK(args.state_options.empty());
    CHECK(args.passed_on.empty());
}

TEST_CASE("server_args: what we take over is read and not passed on") {
    const server_args args = read(
        {"-m", "a.gguf", "--host", "0.0.0.0", "-c", "512", "--port", "8080", "--reuse-port",
         "--ssl-key-file", "k.pem", "--ssl_cert_file", "c.pem", "--slot-save-path", "-odd", "-v"});
    CHECK(args.hosts == arguments{"0.0.0.0"});
    CHECK(args.port == 8080);
    CHECK(args.reuse_port);
    CHECK(args.ssl_key_file == "k.pem");
    CHECK(args.ssl_cert_file == "c.pem");
    CHECK(args.slot_save_path == "-odd");
    CHECK(args.passed_on == arguments{"-m", "a.gguf", "-c", "512", "-v"});
}

TEST_CASE("server_args: the rest is passed on byte for byte and in order") {
    struct line {
        arguments given;
        arguments passed;
    };
    const line test = GENERATE(
        line{
            {"--unknown", "1", "--also=2", "", "b c", "\xff"},
            {"--unknown", "1", "--also=2", "", "b c", "\xff"}},
        // Not llama-server's syntax; it says so itself.
        line{{"--port=1", "--host=x"}, {"--port=1", "--host=x"}},
        line{{"-m", "--port", "--port", "2"}, {"-m", "--port"}},
        line{
            {"--control-vector-layer-range", "--port", "--host", "-v"},
            {"--control-vector-layer-range", "--port", "--host", "-v"}},
        line{{"--cache_type_k", "q8_0", "-fa", "on"}, {"--cache_type_k", "q8_0", "-fa", "on"}},
        line{{"host", "port", "-port", "1"}, {"host", "port", "-port", "1"}},
        line{
            {"-np", "2", "-kvu", "--api-key", "x", "--api-prefix", "/p"},
            {"-np", "2", "-kvu", "--api-key", "x", "--api-prefix", "/p"}},
        line{{"", "-", "--", "-h"}, {"", "-", "--", "-h"}});
    CAPTURE(test.given);
    CHECK(read(test.given).passed_on == test.passed);
}

TEST_CASE("server_args: the command line outweighs the environment, the last one the earlier") {
    const environment_map environment{
        {"LLAMA_ARG_HOST", "::1"},         {"LLAMA_ARG_PORT", "1"},
        {"LLAMA_ARG_REUSE_PORT", "true"},  {"LLAMA_ARG_SSL_KEY_FILE", "ek"},
        {"LLAMA_ARG_SSL_CERT_FILE", "ec"}, {"LLAMA_ARG_SLOT_SAVE_PATH", "/es"},
        {"LLAMA_ARG_MODEL", "e.gguf"},     {"LLAMA_ARG_API_PREFIX", "/e"},
        {"LLAMA_ARG_N_PARALLEL", "3"},     {"LLAMA_ARG_CACHE_TYPE_K", "q4_0"},
    };
    const server_args theirs = read({}, environment);
    CHECK(theirs.hosts == arguments{"::1"});
    CHECK(theirs.port == 1);
    CHECK(theirs.reuse_port);
    CHECK(theirs.ssl_key_file == "ek");
    CHECK(theirs.ssl_cert_file == "ec");
    CHECK(theirs.slot_save_path == "/es");
    CHECK(theirs.model == "e.gguf");
    CHECK(theirs.model_path == "e.gguf");
    CHECK(theirs.api_prefix == "/e");
    CHECK(theirs.parallel == 3);
    CHECK(theirs.state_options == state{{"cache-type-k", "q4_0"}});

    const server_args args = read(
        {"--port", "2", "--port", "3", "--host", "x", "-m", "a", "--model", "b", "-np", "5",
         "--api-prefix", "/c", "-ctk", "q8_0", "--slot-save-path", "/s"},
        environment);
    CHECK(args.port == 3);
    CHECK(args.hosts == arguments{"x"});
    CHECK(args.model == "b");
    CHECK(args.parallel == 5);
    CHECK(args.api_prefix == "/c");
    CHECK(args.slot_save_path == "/s");
    CHECK(args.state_options == state{{"cache-type-k", "q8_0"}});
    CHECK_FALSE(read({}, {{"LLAMA_ARG_REUSE_PORT", "0"}}).reuse_port);
}

TEST_CASE("server_args: several hosts") {
    CHECK(
        read({"--host", "127.0.0.1, ::1,,/run/a.sock"}).hosts ==
        arguments{"127.0.0.1", "::1", "/run/a.sock"});
}

TEST_CASE("server_args: values that we need and cannot read") {
    struct line {
        arguments given;
        environment_map environment;
        std::vector<std::string> parts;
    };
    const line test = GENERATE(
        line{{"--port", "http"}, {}, {"--port", "\"http\"", "0 to 65535"}},
        line{{"--port", "65536"}, {}, {"\"65536\""}}, line{{"--port", "-1"}, {}, {"\"-1\""}},
        line{{"--port", "80x"}, {}, {"\"80x\""}}, line{{"--port", ""}, {}, {"\"\""}},
        line{{}, {{"LLAMA_ARG_PORT", "x"}}, {"LLAMA_ARG_PORT", "\"x\""}},
        line{{}, {{"LLAMA_ARG_HOST", ""}}, {"LLAMA_ARG_HOST", "no address"}},
        line{{"--host", " , "}, {}, {"--host"}}, line{{"-np", "many"}, {}, {"-np", "\"many\""}},
        line{{"--api-prefix", "foo"}, {}, {"--api-prefix", "\"foo\"", "begin with /"}},
        line{{"--api-key-file", "/no/such/file"}, {}, {"--api-key-file", "/no/such/file"}},
        line{{}, {{"LLAMA_ARG_API_KEY_FILE", "/no"}}, {"LLAMA_ARG_API_KEY_FILE"}},
        line{{"-v", "--port"}, {}, {"--port needs a value"}},
        line{{"-m"}, {}, {"-m needs a value"}},
        line{{"--control-vector-layer-range", "1"}, {}, {"needs a value"}});
    const std::string sentence = refusal(test.given, test.environment);
    CAPTURE(sentence);
    for (const std::string& part : test.parts) {
        CHECK(contains(sentence, part));
    }
}

TEST_CASE("server_args: API keys add up over all four places") {
    const temporary_directory directory;
    const std::string one = write(directory, "one", "# comment\nf1\n\nf2 with space\n#f3");
    const std::string two = write(directory, "two", "g1\r\n");
    const environment_map environment{{"LLAMA_API_KEY", "e1,e2"}, {"LLAMA_ARG_API_KEY_FILE", two}};
    const server_args args =
        read({"--api-key", "a,,b", "--api-key-file", one, "--api-key", "c"}, environment);
    arguments keys = args.api_keys;
    std::sort(keys.begin(), keys.end());
    CHECK(keys == arguments{"a", "b", "c", "e1", "e2", "f1", "f2 with space", "g1"});
}

TEST_CASE("server_args: a key file that can be read only once is refused") {
    CHECK(contains(refusal({"--api-key-file", "/dev/null"}), "/dev/null"));
    const temporary_directory directory;
    CHECK(contains(
        refusal({"--api-key-file", directory.path().string()}), directory.path().string()));
}

TEST_CASE("server_args: which model") {
    struct line {
        arguments given;
        std::string model;
        std::string path;
    };
    const line test = GENERATE(
        line{{"-m", "/m/a.gguf"}, "/m/a.gguf", "/m/a.gguf"},
        line{{"-hf", "org/repo:Q4_K_M"}, "org/repo:Q4_K_M", ""},
        line{{"-hfr", "org/repo", "--hf-file", "x.gguf"}, "org/repo/x.gguf", ""},
        line{{"-mu", "http://x/a.gguf"}, "http://x/a.gguf", ""},
        line{{"-mu", "http://x/a.gguf", "-m", "a.gguf"}, "a.gguf", "a.gguf"},
        line{{"-dr", "gemma3"}, "gemma3", ""}, line{{"-dr", "gemma3", "-hf", "o/r"}, "gemma3", ""},
        line{{"-m", "a.gguf", "-hf", "o/r"}, "o/r", ""},
        line{{"--gpt-oss-20b-default"}, "gpt-oss-20b-default", ""},
        line{{"--fim-qwen-7b-spec", "-v"}, "fim-qwen-7b-spec", ""},
        line{{"--models-dir", "/models"}, "", ""});
    CAPTURE(test.given);
    const server_args args = read(test.given);
    CHECK(args.model == test.model);
    CHECK(args.model_path == test.path);
    CHECK(args.passed_on == test.given);
}

TEST_CASE("server_args: a preset listens on its own port unless a later argument says otherwise") {
    CHECK(read({"--gpt-oss-20b-default"}).port == 8013);
    CHECK(read({"--gpt-oss-20b-default", "--port", "1"}).port == 1);
    CHECK(read({"--port", "1", "--fim-qwen-1.5b-default"}).port == 8012);
}

TEST_CASE("server_args: what prints and exits") {
    const std::string argument = GENERATE(
        as<std::string>(), "-h", "--help", "--usage", "--version", "-cl", "--cache-list",
        "--cache_list", "--list-devices", "--completion-bash");
    CHECK(read({"-m", "a", argument}).prints_and_exits);
    CHECK_FALSE(read({"-m", argument}).prints_and_exits);
}

TEST_CASE("server_args: slots and streams") {
    struct line {
        arguments given;
        environment_map environment;
        std::optional<int> parallel;
        bool unified;
        int streams_of_4;
    };
    const line test = GENERATE(
        line{{}, {}, std::nullopt, true, 1}, line{{"-np", "-1"}, {}, std::nullopt, true, 1},
        line{{"-np", "-1", "--no-kv-unified"}, {}, std::nullopt, true, 1},
        line{{"--no-kv-unified"}, {}, std::nullopt, true, 1}, line{{"-np", "4"}, {}, 4, false, 4},
        line{{"--parallel", "4", "-kvu"}, {}, 4, true, 1},
        line{{"-np", "4", "-kvu", "-no-kvu"}, {}, 4, false, 4},
        line{{"-np", "4", "-no-kvu", "--kv-unified"}, {}, 4, true, 1},
        line{{"-np", "4"}, {{"LLAMA_ARG_KV_UNIFIED", "1"}}, 4, true, 1},
        line{{"-np", "4"}, {{"LLAMA_ARG_KV_UNIFIED", "0"}}, 4, false, 4},
        line{{"-np", "4", "--no-kv-unified"}, {{"LLAMA_ARG_KV_UNIFIED", "1"}}, 4, false, 4},
        // The negative twin says no by being there, whatever its value.
        line{
            {"-np", "4"},
            {{"LLAMA_ARG_KV_UNIFIED", "1"}, {"LLAMA_ARG_NO_KV_UNIFIED", "0"}},
            4,
            false,
            4},
        line{{}, {{"LLAMA_ARG_N_PARALLEL", "4"}}, 4, false, 4},
        line{{"-np", "-1"}, {{"LLAMA_ARG_N_PARALLEL", "4"}}, std::nullopt, true, 1});
    CAPTURE(test.given, test.environment);
    const server_args args = read(test.given, test.environment);
    CHECK(args.parallel == test.parallel);
    CHECK(args.kv_unified == test.unified);
    CHECK(args.stream_count(4) == test.streams_of_4);
    CHECK(args.stream_count(1) == 1);
}

TEST_CASE("server_args: threads for connections") {
    struct line {
        arguments given;
        environment_map environment;
        int on_2_processors;
        int on_16_processors;
    };
    const line test = GENERATE(
        line{{}, {}, 3, 15}, line{{"-np", "4"}, {}, 6, 15}, line{{"-np", "20"}, {}, 22, 22},
        line{{"--threads-http", "1"}, {}, 1, 1}, line{{"--threads-http", "-1"}, {}, 3, 15},
        line{{}, {{"LLAMA_ARG_THREADS_HTTP", "5"}}, 5, 5});
    CAPTURE(test.given, test.environment);
    const server_args args = read(test.given, test.environment);
    CHECK(args.connection_threads(2) == test.on_2_processors);
    CHECK(args.connection_threads(16) == test.on_16_processors);
}

TEST_CASE("server_args: what changes the meaning of a saved slot") {
    struct line {
        arguments given;
        state options;
    };
    const line test = GENERATE(
        line{
            {"-ctk", "q8_0", "--cache-type-v", "q4_0"},
            {{"cache-type-k", "q8_0"}, {"cache-type-v", "q4_0"}}},
        line{{"-fa", "1"}, {{"flash-attn", "on"}}}, line{{"-fa", "true"}, {{"flash-attn", "on"}}},
        line{{"--flash_attn", "disabled"}, {{"flash-attn", "off"}}},
        line{{"-fa", "off", "-fa", "on"}, {{"flash-attn", "on"}}},
        // Older builds: a switch.
        line{{"-fa", "-ctk", "q8_0"}, {{"flash-attn", "on"}, {"cache-type-k", "q8_0"}}},
        line{{"-fa"}, {{"flash-attn", "on"}}}, line{{"--swa-full"}, {{"swa-full", "1"}}},
        line{{"--rope-freq-base", "1e6"}, {{"rope-freq-base", "1000000"}}},
        line{{"--rope-freq-base", "1000000.0"}, {{"rope-freq-base", "1000000"}}},
        line{{"--rope-freq-scale", "0.25"}, {{"rope-freq-scale", "0.25"}}},
        line{{"--rope-scale", "4"}, {{"rope-freq-scale", "0.25"}}},
        line{{"--rope-scaling", "yarn"}, {{"rope-scaling", "yarn"}}},
        line{
            {"--yarn-orig-ctx", "4096", "--yarn-ext-factor", "1", "--yarn-attn-factor", "2.0",
             "--yarn-beta-slow", "3", "--yarn-beta-fast", "4"},
            {{"yarn-orig-ctx", "4096"},
             {"yarn-ext-factor", "1"},
             {"yarn-attn-factor", "2"},
             {"yarn-beta-slow", "3"},
             {"yarn-beta-fast", "4"}}},
        line{{"--lora", "a", "--lora", "b,c"}, {{"lora", "a,b,c"}}},
        line{{"--lora-scaled", "a:0.5"}, {{"lora-scaled", "a:0.5"}}},
        // Older builds: two values.
        line{
            {"--lora-scaled", "a", "0.5", "--lora", "b"},
            {{"lora-scaled", "a:0.5"}, {"lora", "b"}}},
        line{
            {"--control-vector", "v", "--control-vector-scaled", "w:2",
             "--control-vector-layer-range", "3", "20"},
            {{"control-vector", "v"},
             {"control-vector-scaled", "w:2"},
             {"control-vector-layer-range", "3 20"}}},
        line{{"--lora-init-without-apply"}, {{"lora-init-without-apply", "1"}}},
        line{
            {"-mm", "p.gguf", "--image-max-tokens", "64"},
            {{"mmproj", "p.gguf"}, {"image-max-tokens", "64"}}},
        line{{"--no-mmproj"}, {{"mmproj-auto", "0"}}},
        line{{"-sm", "row"}, {{"split-mode", "row"}}},
        line{
            {"--override-kv", "a=int:1", "--override-kv", "b=int:2"},
            {{"override-kv", "a=int:1,b=int:2"}}},
        line{
            {"-md", "d.gguf", "-ctkd", "q8_0", "--cache-type-v-draft", "q4_0"},
            {{"spec-draft-model", "d.gguf"},
             {"spec-draft-type-k", "q8_0"},
             {"spec-draft-type-v", "q4_0"}}},
        line{
            {"-hfd", "o/r", "--spec-type", "draft-mtp"},
            {{"spec-draft-hf", "o/r"}, {"spec-type", "draft-mtp"}}},
        // A default that is spelled out is a default.
        line{
            {"-ctk", "q8_0", "-ctk", "f16", "-fa", "auto", "-sm", "layer", "--mmproj-auto",
             "--yarn-ext-factor", "-1.00", "--spec-type", "none"},
            {}},
        line{{"-c", "4096", "-t", "4", "-ub", "64", "--temp", "0", "-ngl", "99", "-np", "2"}, {}});
    CAPTURE(test.given);
    const server_args args = read(test.given);
    CHECK(args.state_options == test.options);
    CHECK(args.passed_on == test.given);
}

TEST_CASE("server_args: the files that change the meaning of a saved slot") {
    struct line {
        arguments given;
        std::vector<llama::state_file> files;
    };
    const line test = GENERATE(
        line{{"-m", "a.gguf"}, {}},
        line{
            {"--lora", "a", "--lora", "b,c"},
            {{"lora", "a", ""}, {"lora", "b", ""}, {"lora", "c", ""}}},
        line{
            {"--lora-scaled", "a:0.50,d/b:2", "--lora", "e:1"},
            {{"lora", "e:1", ""}, {"lora-scaled", "a", "0.5"}, {"lora-scaled", "d/b", "2"}}},
        line{{"--lora-scaled", "a", "0.5"}, {{"lora-scaled", "a", "0.5"}}},
        line{
            {"--control-vector", "v", "--control-vector-scaled", "w:-1"},
            {{"control-vector", "v", ""}, {"control-vector-scaled", "w", "-1"}}},
        line{{"-mm", "p,1.gguf"}, {{"mmproj", "p,1.gguf", ""}}},
        line{{"-md", "old.gguf", "-md", "d.gguf"}, {{"spec-draft-model", "d.gguf", ""}}},
        line{{"-hfd", "o/r", "-mmu", "http://x/y"}, {}});
    CAPTURE(test.given);
    CHECK(read(test.given).state_files == test.files);
    CHECK(
        read({}, {{"LLAMA_ARG_MODEL_DRAFT", "d"}}).state_files ==
        std::vector<llama::state_file>{{"spec-draft-model", "d", ""}});
}

TEST_CASE("server_args: what changes the meaning of a saved slot, from the environment") {
    const environment_map environment{
        {"LLAMA_ARG_FLASH_ATTN", "enabled"},  {"LLAMA_ARG_SWA_FULL", "on"},
        {"LLAMA_ARG_ROPE_SCALE", "2"},        {"LLAMA_ARG_SPEC_DRAFT_MODEL", "d"},
        {"LLAMA_ARG_NO_MMPROJ_AUTO", "1"},    {"LLAMA_ATTN_ROT_DISABLE", "1"},
        {"LLAMA_ARG_CACHE_TYPE_V", "f16"},    {"LLAMA_ARG_THREADS", "3"},
        {"LLAMA_ARG_SPEC_TYPE", "ngram-mod"}, {"LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", "q8_0"},
    };
    CHECK(
        read({}, environment).state_options == state{
                                                   {"flash-attn", "on"},
                                                   {"swa-full", "1"},
                                                   {"rope-freq-scale", "0.5"},
                                                   {"spec-draft-model", "d"},
                                                   {"mmproj-auto", "0"},
                                                   {"attn-rot-disable", "1"},
                                                   {"spec-type", "ngram-mod"},
                                                   {"spec-draft-type-k", "q8_0"},
                                               });
    CHECK(read({}, {{"LLAMA_ARG_SWA_FULL", "0"}}).state_options.empty());
}

TEST_CASE("server_args: the child's arguments end with ours") {
    const server_args args = read({"--port", "8080", "-m", "a", "--host", "x", "--alias", "b"});
    CHECK(
        llama::child_arguments(args, "127.0.0.1", 4321, "/store/a") ==
        arguments{
            "-m", "a", "--alias", "b", "--host", "127.0.0.1", "--port", "4321", "--slot-save-path",
            "/store/a"});
    CHECK(
        llama::child_arguments(args, "/run/x.sock", 0, "") ==
        arguments{"-m", "a", "--alias", "b", "--host", "/run/x.sock"});
}

TEST_CASE("server_args: the child's environment has nothing of ours") {
    const environment_map environment{
        {"HOME", "/h"},
        {"LISTEN_FDS", "1"},
        {"LISTEN_PID", "7"},
        {"LLAMA_API_KEY", "k"},
        {"LLAMA_ARG_HOST", "0.0.0.0"},
        {"LLAMA_ARG_MODEL", "a=b"},
        {"LLAMA_ARG_PORT", "1"},
        {"LLAMA_ARG_REUSE_PORT", "1"},
        {"LLAMA_ARG_SLOT_SAVE_PATH", "/s"},
        {"LLAMA_ARG_SSL_CERT_FILE", "c"},
        {"LLAMA_ARG_SSL_KEY_FILE", "k"},
        {"LLAMA_HIBERNATE_DIR", "/d"},
        {"LLAMA_SERVER_CHILD_MODE", "1"},
        {"LLAMA_SERVER_ROUTER_PORT", "2"},
        {"NOTIFY_SOCKET", "/run/systemd/notify"},
        {"WATCHDOG_PID", "7"},
        {"WATCHDOG_USEC", "60000000"},
        {"ZERO", ""},
    };
    CHECK(
        llama::child_environment(environment) ==
        arguments{"HOME=/h", "LLAMA_API_KEY=k", "LLAMA_ARG_MODEL=a=b", "ZERO="});
}

TEST_CASE("idle slots are emptied unless a flag prevents it") {
    const auto empties = [](const arguments& given, const environment_map& environment = {}) {
        return read(given, environment).empties_idle_slots();
    };
    CHECK(empties({"-m", "a"}));
    CHECK(empties({"-m", "a", "-np", "4", "-kvu"}));
    CHECK_FALSE(empties({"-m", "a", "-np", "4"}));
    CHECK_FALSE(empties({"-m", "a", "--no-cache-idle-slots"}));
    CHECK_FALSE(empties({"-m", "a"}, {{"LLAMA_ARG_CACHE_IDLE_SLOTS", "0"}}));
    CHECK_FALSE(empties({"-m", "a", "--cache-ram", "0"}));
    CHECK(empties({"-m", "a", "-cram", "-1"}));
    CHECK_FALSE(read({"-m", "a", "-cram", "-1"}).ram_cache);
    CHECK(read({"-m", "a", "-cram", "2"}).ram_cache == 2 * 1024 * 1024);
    CHECK(read({"-m", "a"}).ram_cache == std::uint64_t{8} << 30);
}

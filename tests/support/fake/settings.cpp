#include "settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace fake {
namespace {

int to_number(const std::string& text) {
    std::size_t used = 0;
    int value = 0;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size())
        throw bad_argument("error: invalid argument: " + text);
    return value;
}

bool to_flag(const std::string& text) {
    if (text == "1" || text == "true" || text == "on" || text == "enabled")
        return true;
    if (text == "0" || text == "false" || text == "off" || text == "disabled")
        return false;
    throw bad_argument("error: invalid boolean: " + text);
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

void read_key_file(settings& into, const std::string& name) {
    std::ifstream file(name);
    if (!file)
        throw bad_argument("error: failed to open file '" + name + "'");
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line.front() != '#')
            into.api_keys.push_back(line);
    }
}

struct option {
    std::vector<std::string> names;
    std::string environment_name; ///< empty: none
    bool takes_value;
    std::function<void(settings&, const std::string&)> apply;
};

const std::vector<option>& options() {
    using text = const std::string&;
    static const std::vector<option> table{
        {{"--host"}, "LLAMA_ARG_HOST", true, [](settings& s, text v) { s.hosts = split(v); }},
        {{"--port"}, "LLAMA_ARG_PORT", true, [](settings& s, text v) { s.port = to_number(v); }},
        {{"-m", "--model"}, "LLAMA_ARG_MODEL", true, [](settings& s, text v) { s.model = v; }},
        {{"-a", "--alias"}, "LLAMA_ARG_ALIAS", true, [](settings& s, text v) { s.alias = v; }},
        {{"-np", "--parallel"},
         "LLAMA_ARG_N_PARALLEL",
         true,
         [](settings& s, text v) { s.parallel = to_number(v); }},
        {{"-c", "--ctx-size"},
         "LLAMA_ARG_CTX_SIZE",
         true,
         [](settings& s, text v) { s.context = to_number(v); }},
        {{"-kvu", "--kv-unified"}, "", false, [](settings& s, text) { s.kv_unified_given = true; }},
        {{"-no-kvu", "--no-kv-unified"},
         "",
         false,
         [](settings& s, text) { s.kv_unified_given = false; }},
        {{},
         "LLAMA_ARG_KV_UNIFIED",
         true,
         [](settings& s, text v) { s.kv_unified_given = to_flag(v); }},
        {{"--slot-save-path"},
         "LLAMA_ARG_SLOT_SAVE_PATH",
         true,
         [](settings& s, text v) { s.slot_save_path = v; }},
        {{"--slots"}, "", false, [](settings& s, text) { s.slots_endpoint = true; }},
        {{"--no-slots"}, "", false, [](settings& s, text) { s.slots_endpoint = false; }},
        {{},
         "LLAMA_ARG_ENDPOINT_SLOTS",
         true,
         [](settings& s, text v) { s.slots_endpoint = to_flag(v); }},
        {{"--api-key"}, "LLAMA_API_KEY", true, [](settings& s, text v) { s.api_keys = split(v); }},
        {{"--api-key-file"}, "LLAMA_ARG_API_KEY_FILE", true, read_key_file},
        {{"--api-prefix"},
         "LLAMA_ARG_API_PREFIX",
         true,
         [](settings& s, text v) { s.api_prefix = v; }},
        {{"-cram", "--cache-ram"},
         "LLAMA_ARG_CACHE_RAM",
         true,
         [](settings& s, text v) { s.cache_ram = to_number(v); }},
        {{"--cache-idle-slots"}, "", false, [](settings& s, text) { s.cache_idle_slots = true; }},
        {{"--no-cache-idle-slots"},
         "",
         false,
         [](settings& s, text) { s.cache_idle_slots = false; }},
        {{},
         "LLAMA_ARG_CACHE_IDLE_SLOTS",
         true,
         [](settings& s, text v) { s.cache_idle_slots = to_flag(v); }},
        {{"--sleep-idle-seconds"},
         "",
         true,
         [](settings& s, text v) { s.sleep_idle_seconds = to_number(v); }},
        {{"-h", "--help", "--usage", "--version", "--list-devices", "--cache-list"},
         "",
         false,
         [](settings& s, text) { s.prints_and_exits = true; }},
    };
    return table;
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

template <typename T>
void script_number(const char* name, T& into) {
    if (const std::string value = variable(name); !value.empty())
        into = T(to_number(value));
}

void script_flag(const char* name, bool& into) {
    if (const std::string value = variable(name); !value.empty())
        into = to_flag(value);
}

void script_text(const char* name, std::string& into) {
    if (const std::string value = variable(name); !value.empty())
        into = value;
}

/// "all", or how many.
void script_count(const char* name, int& into) {
    if (const std::string value = variable(name); !value.empty())
        into = value == "all" ? -1 : to_number(value);
}

void read_script(settings& into) {
    script_number("FAKE_LOAD_MS", into.load);
    script_number("FAKE_SAVE_MS", into.save);
    script_number("FAKE_RESTORE_MS", into.restore);
    script_number("FAKE_PREFILL_MS", into.prefill);
    script_number("FAKE_TOKEN_MS", into.token);
    script_number("FAKE_KEEP_ALIVE_MS", into.keep_alive);
    script_number("FAKE_TOKENS", into.tokens);
    script_number("FAKE_BYTES_PER_TOKEN", into.bytes_per_token);
    script_number("FAKE_STATE_VERSION", into.state_version);
    script_number("FAKE_WEIGHTS", into.weights);
    script_text("FAKE_BUILD", into.build);
    into.hybrid = variable("FAKE_ARCH") == "hybrid";
    into.useless_restores = variable("FAKE_USELESS_RESTORES") == "1";
    script_count("FAKE_RESTORE_LOSES", into.lost_tokens);
    script_count("FAKE_FAIL_RESTORE", into.fail_restores);
    script_text("FAKE_HARM", into.harm);
    script_count("FAKE_FAIL_SAVE", into.fail_saves);
    script_count("FAKE_UNSUPPORTED_SAVE", into.unsupported_saves);
    script_text("FAKE_CRASH_ON", into.crash_on);
    script_number("FAKE_CRASH_SIGNAL", into.crash_signal);
    script_number("FAKE_EXIT_CODE", into.exit_code);
    script_flag("FAKE_IGNORE_SIGINT", into.ignore_sigint);
    script_flag("FAKE_CLOSE_OUTPUT", into.close_output);
    script_flag("FAKE_QUIET", into.quiet);
    script_text("FAKE_ENV_DUMP", into.environment_dump);
    script_text("FAKE_LOG", into.log);
}

std::string status_line(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(name + ":"))
            return line.substr(line.find_first_not_of(" \t", name.size() + 1));
    }
    return {};
}

} // namespace

settings read_settings(const std::vector<std::string>& arguments) {
    settings result;
    for (const option& known : options()) {
        if (known.environment_name.empty())
            continue;
        if (const std::string value = variable(known.environment_name.c_str()); !value.empty())
            known.apply(result, value);
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string name = arguments[i];
        if (name.starts_with("--")) {
            if (name.find('=') != std::string::npos)
                throw bad_argument("error: invalid argument: " + name);
            std::replace(name.begin(), name.end(), '_', '-');
        }
        const auto known = std::find_if(options().begin(), options().end(), [&](const option& o) {
            return std::find(o.names.begin(), o.names.end(), name) != o.names.end();
        });
        if (known == options().end())
            continue;
        if (known->takes_value && i + 1 == arguments.size())
            throw bad_argument("error: expected value for argument " + name);
        known->apply(result, known->takes_value ? arguments[++i] : std::string());
    }
    read_script(result);
    return result;
}

void dump_environment(const std::string& file, const std::vector<std::string>& argv) {
    nlohmann::json dump;
    dump["argv"] = argv;
    dump["environment"] = nlohmann::json::array();
    for (char** entry = environ; *entry != nullptr; ++entry)
        dump["environment"].push_back(*entry);
    dump["descriptors"] = nlohmann::json::object();
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ec)) {
        const std::string target = std::filesystem::read_symlink(entry.path(), ec).string();
        // The listing's own descriptor is no news.
        if (target.find("/proc/") != 0 || target.find("/fd") == std::string::npos)
            dump["descriptors"][entry.path().filename().string()] = target;
    }
    int death_signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &death_signal);
    dump["pid"] = ::getpid();
    dump["parent"] = ::getppid();
    dump["session"] = ::getsid(0);
    dump["group"] = ::getpgid(0);
    dump["death_signal"] = death_signal;
    dump["blocked"] = status_line("SigBlk");
    dump["ignored"] = status_line("SigIgn");
    {
        std::ofstream out(file + ".part");
        out << dump.dump(1) << '\n';
    }
    std::filesystem::rename(file + ".part", file, ec);
}

} // namespace fake

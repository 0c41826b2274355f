#include "llama_hibernate/app/find_server.hpp"

#include <filesystem>
#include <unistd.h>

#include <fmt/core.h>

#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/platform.hpp"
#include "llama_hibernate/process/child.hpp"
#include "option_table.hpp"

namespace hibernate::app {

namespace fs = std::filesystem;

namespace {

/// With every symbolic link resolved; empty where it cannot be told.
fs::path our_binary([[maybe_unused]] const std::string& found) {
    std::error_code ec;
#if defined(HIBERNATE_LINUX)
    return fs::read_symlink("/proc/self/exe", ec);
#else
    return fs::canonical(found, ec);
#endif
}

/// Empty where there is none.
std::string beside(const fs::path& binary) {
    if (binary.empty()) {
        return {};
    }
    std::error_code ec;
    const auto candidate = binary.parent_path() / "llama-server";
    const bool usable = fs::is_regular_file(candidate, ec) && access(candidate.c_str(), X_OK) == 0;
    return usable ? candidate.string() : std::string();
}

/// Why it cannot be a llama-server, with what may have been meant; empty if it may be one.
std::string what_else_it_is(const std::string& name) {
    std::error_code ignored;
    if (name.ends_with(".gguf")) {
        return fmt::format(
            "'{0}' is a model, where llama-server's path could stand; give it with -m: "
            "llama-hibernate -m {0}",
            name);
    }
    if (fs::is_directory(name, ignored)) {
        return fmt::format(
            "'{}' is a folder; the path of the llama-server in it is wanted, such as {}", name,
            (fs::path(name) / "llama-server").string());
    }
    return {};
}

} // namespace

std::string find_server(
    const std::string& wanted,
    const std::string& called,
    const llama::environment_map& environment) {
    const auto entry = environment.find("PATH");
    const auto path = entry == environment.end() ? std::string() : entry->second;
    if (wanted.empty()) {
        const auto ours = our_binary(process::find_program(called, path));
        if (auto sibling = beside(ours); !sibling.empty()) {
            return sibling;
        }
    }
    const std::string name = wanted.empty() ? "llama-server" : wanted;
    auto found = process::find_program(name, path);
    if (const auto why = what_else_it_is(found.empty() ? name : found); !why.empty()) {
        throw startup_error(why, exit_status::not_executable);
    }
    if (found.empty()) {
        const auto command = nearest_command(name);
        throw startup_error(
            fmt::format(
                "there is no program '{}' on PATH; {}name llama-server by its path as the "
                "first argument or with --hibernate-server",
                name,
                command ? fmt::format("did you mean `llama-hibernate {}`? Else ", *command) : ""),
            exit_status::not_found);
    }
    return found;
}

} // namespace hibernate::app

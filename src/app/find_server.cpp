#include "llama_hibernate/app/find_server.hpp"

#include <filesystem>
#include <unistd.h>

#include <fmt/core.h>

#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/platform.hpp"
#include "llama_hibernate/process/child.hpp"

namespace hibernate::app {

namespace fs = std::filesystem;

namespace {

/// Empty where there is none, or where the system does not tell what our own path is.
std::string beside_our_binary() {
#if defined(HIBERNATE_LINUX)
    std::error_code ec;
    const auto ours = fs::read_symlink("/proc/self/exe", ec);
    const auto candidate = ours.parent_path() / "llama-server";
    const bool usable =
        !ec && fs::is_regular_file(candidate, ec) && access(candidate.c_str(), X_OK) == 0;
    return usable ? candidate.string() : std::string();
#else
    return {};
#endif
}

} // namespace

std::string find_server(const std::string& wanted, const llama::environment_map& environment) {
    const auto entry = environment.find("PATH");
    const auto path = entry == environment.end() ? std::string() : entry->second;
    if (wanted.empty()) {
        if (auto sibling = beside_our_binary(); !sibling.empty()) {
            return sibling;
        }
    }
    const std::string name = wanted.empty() ? "llama-server" : wanted;
    auto found = process::find_program(name, path);
    if (found.empty()) {
        throw startup_error(
            fmt::format(
                "there is no program '{}' on PATH; name llama-server by its path as the "
                "first argument or with --hibernate-server",
                name),
            exit_status::not_found);
    }
    return found;
}

} // namespace hibernate::app

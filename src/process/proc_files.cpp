#include "llama_hibernate/base/platform.hpp"

#if defined(HIBERNATE_LINUX)

#include "proc_files.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace hibernate::process::proc {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view listening = "0A";
constexpr std::size_t word_digits = 8;

template <typename Number>
std::optional<Number> number_in(std::string_view text, int base) {
    Number value = 0;
    const auto* const end = text.data() + text.size();
    const auto [stopped, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

enum class reach { none, exact, any };

/// Of "0100007F", or four such words: the kernel prints each 32 bits of an address as a number of
/// this machine.
reach reach_of(std::string_view address) {
    std::vector<std::uint32_t> words;
    for (; address.size() >= word_digits; address.remove_prefix(word_digits)) {
        words.push_back(number_in<std::uint32_t>(address.substr(0, word_digits), 16).value_or(1));
    }
    const std::vector<std::uint32_t> loopback{htonl(INADDR_LOOPBACK)};
    constexpr std::uint32_t mapping = 0xFFFF;
    const std::vector<std::uint32_t> mapped{0, 0, htonl(mapping), htonl(INADDR_LOOPBACK)};
    if (words == loopback || words == mapped) {
        return reach::exact;
    }
    const bool zero = std::all_of(words.begin(), words.end(), [](auto word) { return word == 0; });
    return zero ? reach::any : reach::none;
}

/// The fields of /proc/PID/stat that follow the name, which may hold anything.
struct relations {
    pid_t parent = 0;
    pid_t session = 0;
};

std::optional<relations> relations_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(file, line);
    const auto name_end = line.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(line.substr(name_end + 1));
    std::string state;
    pid_t group = 0;
    relations found;
    fields >> state >> found.parent >> group >> found.session;
    return fields ? std::optional(found) : std::nullopt;
}

std::map<pid_t, relations> all_processes() {
    std::map<pid_t, relations> all;
    std::error_code error;
    for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const auto process = number_in<pid_t>(entry->path().filename().string(), 10);
        if (const auto found = process ? relations_of(*process) : std::nullopt) {
            all.emplace(*process, *found);
        }
    }
    return all;
}

} // namespace

std::optional<std::vector<platform::listening_socket>>
listeners_in(const std::string& table, std::uint16_t port) {
    std::ifstream file(table);
    std::string line;
    if (!std::getline(file, line)) { // the heading
        return std::nullopt;
    }
    std::vector<platform::listening_socket> found;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::array<std::string, 10> field;
        for (auto& one : field) {
            fields >> one;
        }
        const auto& [count, local, remote, state, queues, timer, retries, user, timeout, number] =
            field;
        const auto colon = std::min(local.find(':'), local.size());
        const auto where = reach_of(std::string_view(local).substr(0, colon));
        const auto at =
            number_in<std::uint16_t>(local.substr(std::min(colon + 1, local.size())), 16);
        if (!fields || state != listening || at != port || where == reach::none) {
            continue;
        }
        found.push_back(
            {number_in<std::uint64_t>(number, 10).value_or(0),
             number_in<uid_t>(user, 10).value_or(static_cast<uid_t>(-1)), where == reach::exact});
    }
    return found;
}

std::vector<pid_t> family_of(pid_t process) {
    const auto all = all_processes();
    const auto belongs = [&](pid_t one) {
        // Process numbers may be used again while we look: no chain is longer than the list.
        for (std::size_t steps = 0; steps <= all.size(); ++steps) {
            const auto found = all.find(one);
            if (one == process || (found != all.end() && found->second.session == process)) {
                return true;
            }
            if (found == all.end()) {
                return false;
            }
            one = found->second.parent;
        }
        return false;
    };
    std::vector<pid_t> family;
    for (const auto& [one, unused] : all) {
        if (belongs(one)) {
            family.push_back(one);
        }
    }
    return family;
}

finding look_for_socket(pid_t process, std::uint64_t number) {
    const auto wanted = fmt::format("socket:[{}]", number);
    std::error_code error;
    fs::directory_iterator entry(fmt::format("/proc/{}/fd", process), error);
    if (error == std::errc::permission_denied) {
        return finding::closed_to_us;
    }
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        if (fs::read_symlink(entry->path(), gone) == wanted) {
            return finding::has_it;
        }
    }
    return error == std::errc::permission_denied ? finding::closed_to_us : finding::has_it_not;
}

std::optional<uid_t> user_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Uid:")) {
            std::istringstream fields(line.substr(line.find(':') + 1));
            uid_t real = 0;
            uid_t effective = 0;
            fields >> real >> effective;
            return fields ? std::optional(effective) : std::nullopt;
        }
    }
    return std::nullopt;
}

} // namespace hibernate::process::proc

#endif

#include "llama_hibernate/process/exit_report.hpp"

#include <csignal>
#include <cstring>

#include <fmt/core.h>

namespace hibernate::process {

bool exit_report::is_crash() const noexcept {
    switch (signal) {
    case 0:
        return code != 0;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
        return false;
    default:
        return true;
    }
}

bool exit_report::is_fault() const noexcept {
    switch (signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
        return true;
    default:
        return false;
    }
}

std::string exit_report::describe() const {
    return signal != 0 ? fmt::format("was killed by signal {} ({})", signal, strsignal(signal))
                       : fmt::format("exited with status {}", code);
}

} // namespace hibernate::process

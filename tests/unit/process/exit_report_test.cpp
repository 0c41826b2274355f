#include "llama_hibernate/process/exit_report.hpp"

#include <csignal>

#include "catch.hpp"

using hibernate::process::exit_report;

TEST_CASE("an end is a crash unless it was asked for, and a fault only if nobody killed it") {
    const auto by_signal = [](int number) { return exit_report{0, number}; };
    CHECK_FALSE(exit_report{}.is_crash());
    CHECK(exit_report{1, 0}.is_crash());
    CHECK_FALSE(exit_report{1, 0}.is_fault());
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        CHECK_FALSE(by_signal(number).is_crash());
        CHECK_FALSE(by_signal(number).is_fault());
    }
    CHECK(by_signal(SIGKILL).is_crash());
    CHECK_FALSE(by_signal(SIGKILL).is_fault());
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
        CHECK(by_signal(number).is_crash());
        CHECK(by_signal(number).is_fault());
    }
}

TEST_CASE("an end is told as a shell tells it") {
    CHECK(exit_report{3, 0}.shell_status() == 3);
    CHECK(exit_report{0, SIGKILL}.shell_status() == 137);
    CHECK(exit_report{3, 0}.describe() == "exited with status 3");
    CHECK(exit_report{0, SIGKILL}.describe() == "was killed by signal 9 (Killed)");
}

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "llama_hibernate/app/daemon.hpp"
#include "llama_hibernate/app/find_server.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/version.hpp"
#include "llama_hibernate/commands/status_command.hpp"
#include "llama_hibernate/commands/store_command.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/process/child.hpp"

extern char** environ;

namespace hibernate {

namespace {

llama::environment_map read_environment() {
    llama::environment_map environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (const auto equals = text.find('='); equals != std::string::npos) {
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return environment;
}

/// For the arguments that make llama-server print something and exit: it takes our place.
int become_server(
    const std::string& program,
    const std::vector<std::string>& arguments,
    const llama::environment_map& environment) {
    process::command command{program, arguments, llama::child_environment(environment)};
    const auto why = process::execute_in_place(command);
    throw startup_error(
        fmt::format("cannot start {}: {}", program, why.message()),
        process::launch_failure_status(why));
}

/// Standard streams that we were started without would be the next files that we open, and the log
/// would be written into them.
void open_missing_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0) {
            open("/dev/null", O_RDWR); // takes the lowest free number, which is this one
        }
    }
}

/// Of the terminal that stderr is; 0 if it is none.
std::size_t terminal_columns() {
    if (isatty(STDERR_FILENO) == 0) {
        return 0;
    }
    winsize size{};
    constexpr std::size_t usual = 80;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : usual;
}

int look_after_store(const app::options& options) {
    const auto disk = make_real_disk();
    const auto status = commands::run_store_command(
        options.command_arguments, {options.root, options.root_is_named, options.max_disk}, *disk,
        {std::cout, std::cerr, terminal_columns()});
    return std::cout.flush() ? status : exit_status::failure;
}

int show_status(const app::options& options, const llama::environment_map& environment) {
    const auto variable = [&environment](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
    commands::status_settings settings;
    settings.root = options.root;
    settings.bound = {options.max_disk, options.min_free};
    settings.api_key = variable("LLAMA_API_KEY");
    settings.style.colours = isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty();
    const auto disk = make_real_disk();
    const auto status = commands::run_status_command(
        options.command_arguments, settings, *disk, {std::cout, std::cerr});
    return std::cout.flush() ? status : exit_status::failure;
}

int run(const std::string& called, const std::vector<std::string>& arguments) {
    const auto environment = read_environment();
    const auto variable = environment.find("JOURNAL_STREAM");
    const auto journal = variable == environment.end() ? std::string() : variable->second;
    log::set_format(log::format::text, journal);
    const auto options = app::read_options(arguments, environment);
    if (options.mode == app::mode::help) {
        std::fputs(app::help_text().c_str(), stdout);
        return EXIT_SUCCESS;
    }
    if (options.mode == app::mode::version) {
        fmt::print("llama-hibernate {}\n", version);
        return EXIT_SUCCESS;
    }
    log::set_format(options.log_format, journal);
    log::set_level(options.log_level);
    for (const auto& remark : options.remarks) {
        log::warning("{}", remark);
    }

    if (options.mode == app::mode::print_configuration) {
        std::fputs(app::configuration_text(options).c_str(), stdout);
        return EXIT_SUCCESS;
    }
    if (options.mode == app::mode::store) {
        return look_after_store(options);
    }
    if (options.mode == app::mode::status) {
        return show_status(options, environment);
    }

    const auto server_args = llama::read_server_args(options.server_arguments, environment);
    const auto program = app::find_server(options.server, called, environment);
    if (server_args.prints_and_exits) {
        return become_server(program, options.server_arguments, environment);
    }
    return app::daemon(options, server_args, environment, program).run();
}

} // namespace

/// What ends us, whatever the level of the log.
void report_failure(const char* why) {
    if (log::is_for_programs()) {
        log::set_level(log::level::error);
        log::error("{}", why);
    } else {
        std::fprintf(stderr, "llama-hibernate: %s\n", why);
    }
}

} // namespace hibernate

int main(int argc, char** argv) {
    hibernate::open_missing_streams();
    try {
        return hibernate::run(argv[0], {argv + 1, argv + argc});
    } catch (const hibernate::startup_error& error) {
        hibernate::report_failure(error.what());
        return error.status();
    } catch (const std::exception& error) {
        hibernate::report_failure(error.what());
        return hibernate::exit_status::failure;
    }
}

// A scripted llama-server, for tests that need one to load slowly, to refuse, to crash or to stay.
//
// It takes llama-server's arguments and LLAMA_ARG_* variables (unknown ones are ignored), has no
// model (the file only has to exist), and serves what a client of slots sees: /health, /props,
// /slots, /v1/models, /completion, /v1/completions, /v1/chat/completions (whole or as a stream,
// with timings), /tokenize, /apply-template, DELETE /v1/stream, and save, restore and erase with
// state files in the real format. A token is a byte of text. What it says depends on every token
// in the slot. It ends on SIGINT and SIGTERM like the real one, its waiting for ever included.
//
// The script is in the environment. Times are in milliseconds.
//   FAKE_LOAD_MS            from listening to loaded
//   FAKE_SAVE_MS            of a save: half of the file is there from its beginning
//   FAKE_RESTORE_MS         of a restore
//   FAKE_PREFILL_MS         from a request to its first token
//   FAKE_TOKEN_MS           from one token to the next
//   FAKE_KEEP_ALIVE_MS      an idle connection is closed after it (5000)
//   FAKE_TOKENS             generated when the request sets no limit (16)
//   FAKE_BYTES_PER_TOKEN    K/V bytes in a state file (64); other ones make a file unfit
//   FAKE_WEIGHTS            of the model, 0 to 127 (0): other ones of the same shape make a state
//   that
//                           is restored as well, and another answer
//   FAKE_STATE_VERSION      of state files (4)
//   FAKE_BUILD              /props build_info (b11669-fake)
//   FAKE_ARCH=hybrid        only a strict extension of a slot's tokens reuses them
//   FAKE_USELESS_RESTORES=1 what is restored into a slot is never reused
//   FAKE_FAIL_RESTORE       "all", or how many of the first restores answer 400
//   FAKE_RESTORE_LOSES      so many tokens at the end of what is restored (0)
//   FAKE_HARM               what a refused restore does to completions from then on: error (500),
//                           silent (no answer)
//   FAKE_FAIL_SAVE          the same for saves and 500; half of the file stays
//   FAKE_UNSUPPORTED_SAVE   the same for saves and 501: of a slot with images
//   FAKE_CRASH_ON           load, request (a completion), save (half written), restore, slots
//   FAKE_CRASH_SIGNAL       the signal of that crash (6)
//   FAKE_EXIT_CODE          the crash is an exit with this status instead
//   FAKE_IGNORE_SIGINT=1    only SIGKILL (or SIGTERM, if it gets through) ends it
//   FAKE_CLOSE_OUTPUT=1     closes stdout and stderr at its start
//   FAKE_QUIET=1            logs nothing to stderr
//   FAKE_ENV_DUMP           a file for how it was started (settings.hpp), written first of all
//   FAKE_LOG                a file that gets a JSON line for each start, request, answer, signal...
// A restore of a file that is a few bytes short aborts, as the real one does.

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "fake/server.hpp"
#include "fake/settings.hpp"

namespace {

int run(const std::vector<std::string>& argv) {
    const fake::settings settings =
        fake::read_settings(std::vector<std::string>(argv.begin() + 1, argv.end()));
    if (!settings.environment_dump.empty())
        fake::dump_environment(settings.environment_dump, argv);
    if (settings.prints_and_exits) {
        std::cout << "version: 11669 (fake)" << std::endl;
        return settings.exit_code >= 0 ? settings.exit_code : 0;
    }
    std::signal(SIGPIPE, SIG_IGN);
    if (settings.close_output) {
        // Not closed outright: a socket would get the number, and the log lines.
        const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(nowhere, 1);
        ::dup2(nowhere, 2);
    }
    if (!settings.slot_save_path.empty() && !std::filesystem::is_directory(settings.slot_save_path))
        throw fake::bad_argument("error: not a directory: " + settings.slot_save_path);
    if (!settings.model.empty() && !std::filesystem::exists(settings.model))
        throw fake::bad_argument("error: failed to load model '" + settings.model + "'");

    boost::asio::io_context context(1);
    fake::server server(context, settings);
    server.start();
    context.run();
    return server.exit_status();
}

} // namespace

int main(int argc, char** argv) {
    int status = 1;
    try {
        status = run(std::vector<std::string>(argv, argv + argc));
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << std::endl;
    }
    return status;
}

#include "llama_hibernate/commands/status_arguments.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

#include "llama_hibernate/base/error.hpp"

namespace hibernate::commands {

status_reading read_status_arguments(const std::vector<std::string>& arguments) {
    status_request request;
    request.url = "http://127.0.0.1:8080";
    CLI::App app(
        "Shows what a llama-hibernate does: its state, its slots, what is saved, and what that was "
        "worth. Exits with 3 if nothing answers.",
        "llama-hibernate status");
    auto* url = app.add_option(
                       "URL", request.url,
                       "Where it listens: http://HOST:PORT, https://HOST:PORT or unix:/PATH.sock, "
                       "with the API prefix behind it, if there is one (http://127.0.0.1:8080)")
                    ->type_name("");
    app.add_option(
           "--model-dir", request.model_directory,
           "Show what is on disk instead, without a daemon: a model's folder, or its name in the "
           "store, as store ls lists it")
        ->type_name("DIR")
        ->excludes(url);
    std::string store; // it was read before, wherever it stands
    app.add_option(
           "--hibernate-dir", store,
           "The store in which that name is; else the one that the daemon would use")
        ->type_name("DIR");
    app.add_option(
           "--api-key", request.api_key,
           "The key that llama-server asks for; better in the variable LLAMA_API_KEY, where other "
           "users of the machine cannot see it")
        ->type_name("KEY");
    app.add_flag("--json", request.json, "As JSON, as /hibernate/status tells it");

    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream complaint;
        const bool help = app.exit(error, out, complaint) == 0;
        return {
            std::nullopt, help ? out.str() : "llama-hibernate status: " + complaint.str(),
            help ? 0 : exit_status::usage};
    }
    return {std::move(request), {}, 0};
}

} // namespace hibernate::commands

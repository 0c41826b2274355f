#include "llama_hibernate/commands/store_arguments.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::commands {

namespace {

using verb = store_request::verb;

std::string refuse_size(const std::string& text) {
    return parse_bytes(text) ? std::string()
                             : "\"" + text + "\" is no size such as 512MiB or 16GiB";
}

} // namespace

store_reading read_store_arguments(const std::vector<std::string>& arguments) {
    store_request request;
    std::string max_disk;
    CLI::App app(
        "Looks after the saved conversations. Safe beside running daemons. Root acts as the owner "
        "of the store.",
        "llama-hibernate store");
    // It was read before, wherever it stands; here it is for the help alone.
    std::string store;
    const auto name_store = [&store](CLI::App& of) {
        of.add_option(
              "--hibernate-dir", store, "Which store; else the one that the daemon would use")
            ->type_name("DIR");
    };
    name_store(app);
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "The help of all commands");
    std::map<CLI::App*, verb> verbs;
    const auto add = [&](verb what, const char* name, const char* meaning) {
        auto* command = app.add_subcommand(name, meaning);
        verbs[command] = what;
        name_store(*command);
        return command;
    };
    const auto add_ids = [&request](CLI::App* command) {
        return command
            ->add_option(
                "ID", request.ids,
                "Snapshots, by their id or the beginning of it (DIRECTORY/ID, if two have it)")
            ->type_name("");
    };

    auto* list = add(verb::list, "ls", "List what is stored");
    list->add_flag("--json", request.json, "As JSON, with everything that is known");
    add_ids(add(verb::show, "show", "Tell all about one snapshot, with the ends of its text"))
        ->required();
    add_ids(add(
        verb::verify, "verify",
        "Read snapshots (all, if none is named) and compare them with their checksums; status 1 "
        "if any fails"));
    auto* collect = add(
        verb::collect, "gc", "Remove what can never be restored, and then what the bound demands");
    collect->add_flag("--dry-run", request.dry_run, "Only tell what would go");
    collect->add_option("--max-disk", max_disk, "Instead of the daemon's --hibernate-max-disk")
        ->type_name("SIZE")
        ->check(refuse_size);
    auto* remove = add(verb::remove, "rm", "Remove snapshots");
    add_ids(remove);
    remove->add_option("--model", request.model, "All of this model that are not pinned")
        ->type_name("NAME");
    remove->add_flag("--all", request.all, "All that are not pinned");
    add_ids(add(verb::pin, "pin", "Keep snapshots from being evicted"))->required();
    add_ids(add(verb::unpin, "unpin", "Let them be evicted again"))->required();
    add_ids(add(verb::release, "release",
                "Take snapshots out of quarantine or retirement, to be tried again"))
        ->required();

    const bool known = arguments.empty() || arguments[0].starts_with('-') ||
                       std::any_of(verbs.begin(), verbs.end(), [&](const auto& one) {
                           return one.first->get_name() == arguments[0];
                       });
    if (!known) {
        return {
            std::nullopt,
            "llama-hibernate store: there is no command " + arguments[0] +
                "; llama-hibernate store --help lists them\n",
            exit_status::usage};
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
        const int ways =
            (request.ids.empty() ? 0 : 1) + (request.model.empty() ? 0 : 1) + (request.all ? 1 : 0);
        if (remove->parsed() && ways != 1) {
            throw CLI::ValidationError("rm", "give either IDs, --model NAME or --all");
        }
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream complaint;
        const bool help = app.exit(error, out, complaint) == 0;
        return {
            std::nullopt, help ? out.str() : "llama-hibernate store: " + complaint.str(),
            help ? 0 : exit_status::usage};
    }
    request.what = verbs.at(app.get_subcommands().front());
    if (!max_disk.empty()) {
        request.max_disk = parse_bytes(max_disk);
    }
    return {std::move(request), {}, 0};
}

} // namespace hibernate::commands

#include "llama_hibernate/commands/store_command.hpp"

#include <ostream>

#include <fmt/format.h>

#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/commands/description.hpp"
#include "llama_hibernate/commands/listing.hpp"
#include "llama_hibernate/commands/selection.hpp"
#include "llama_hibernate/commands/store_arguments.hpp"
#include "llama_hibernate/store/collection.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/snapshot_changes.hpp"
#include "verifier.hpp"

namespace hibernate::commands {

using store::stored_item;
using verb = store_request::verb;

namespace {

std::string format_item(const stored_item& item) {
    return item.manifest ? fmt::format(
                               "{} ({}, {} tokens, {})", item.id, item.manifest->model_name,
                               item.manifest->tokens, format_bytes(item.bytes))
                         : fmt::format("{} ({})", item.id, format_bytes(item.bytes));
}

class store_command {
public:
    store_command(
        const store_request& request,
        const store_settings& settings,
        disk& disk,
        const console& console)
        : request_(request), settings_(settings), disk_(disk), console_(console) {}

    int run() {
        if (const auto refused = act_as_owner_of_store(settings_.root); !refused.empty()) {
            return fail(refused);
        }
        const auto readable = disk_.list(settings_.root);
        const bool is_there = readable || !says_gone(readable.error());
        if (!is_there && settings_.root_is_named) {
            return fail(fmt::format("there is no directory {}", settings_.root.string()));
        }
        if (is_there && !readable) {
            return fail(fmt::format("{}: {}", settings_.root.string(), readable.error().message()));
        }
        if (request_.what == verb::collect) { // which has to look under locks
            return collect();
        }
        stored_ = store::take_inventory(disk_, settings_.root);
        const auto hint = find_hint();
        const auto status = perform();
        if (!hint.empty()) {
            tell(hint);
        }
        return status;
    }

private:
    int perform() {
        auto selected = select_by_ids(stored_, settings_.root, request_.ids);
        if (!selected.problem.empty()) {
            return fail(selected.problem);
        }
        switch (request_.what) {
        case verb::list:
            return list();
        case verb::show:
            return show(selected.items);
        case verb::verify:
            return verify(std::move(selected.items));
        case verb::remove:
            return remove(std::move(selected.items));
        case verb::pin:
        case verb::unpin:
            return pin(selected.items, request_.what == verb::pin);
        case verb::release:
            return release(selected.items);
        case verb::collect:
            break;
        }
        return exit_status::failure;
    }

    static bool says_gone(const error_code& failed) {
        return failed == boost::system::errc::no_such_file_or_directory;
    }

    std::string find_hint() const {
        const auto service = disk_.list(settings_.service_root);
        return hint_at_service(
            {settings_.root, settings_.root_is_named, !select_all(stored_).empty(),
             settings_.service_root, service || !says_gone(service.error())});
    }

    template <typename... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) {
        console_.out << printable_text(fmt::format(format, std::forward<Args>(args)...)) << '\n';
    }

    void tell(const std::string& what) {
        console_.complaints << "llama-hibernate: " << printable_text(what) << '\n';
    }

    int fail(const std::string& complaint) {
        tell(complaint);
        return exit_status::failure;
    }

    std::filesystem::path directory_of(const stored_item& item) const {
        return settings_.root / item.directory;
    }

    /// Does it to each; says what was done, or why it was not.
    template <typename Change>
    int change(const std::vector<const stored_item*>& items, const char* done, Change change) {
        int status = 0;
        for (const auto* item : items) {
            if (const error_code failed = change(*item)) {
                status = fail(fmt::format("{}: {}", item->id, explain(failed)));
            } else {
                say("{} {}", done, format_item(*item));
            }
        }
        return status;
    }

    static std::string explain(const error_code& failed) {
        if (says_gone(failed)) {
            return "it is not there any more, or its manifest is unusable";
        }
        return failed.message();
    }

    int list() {
        console_.out
            << (request_.json
                    ? list_as_json(stored_, settings_.root, settings_.max_disk)
                    : list_as_table(
                          stored_, settings_.root, settings_.max_disk, store::wall_now()));
        return 0;
    }

    int show(const std::vector<const stored_item*>& items) {
        const auto known = find_successors(stored_);
        for (const auto* item : items) {
            console_.out << describe_snapshot(
                settings_.root, *item, describe_state(*item, successor_of(*item, known)),
                read_content(disk_, settings_.root, *item), store::wall_now());
        }
        return 0;
    }

    int verify(std::vector<const stored_item*> items) {
        if (request_.ids.empty()) {
            items = select_all(stored_);
        }
        return verify_items(disk_, settings_.root, items, console_) ? 0 : exit_status::failure;
    }

    int remove(std::vector<const stored_item*> items) {
        if (request_.ids.empty()) {
            auto unpinned = select_unpinned(stored_, request_.model);
            items = std::move(unpinned.items);
            if (unpinned.pinned != 0) {
                say("{} pinned, which stay; name them by their ids to remove them",
                    unpinned.pinned);
            } else if (items.empty() && !request_.model.empty()) {
                return fail(fmt::format(
                    "there is no snapshot of a model {} in {}", request_.model,
                    settings_.root.string()));
            } else if (items.empty()) {
                say("there is nothing to remove in {}", settings_.root.string());
            }
        }
        return change(items, "removed", [this](const stored_item& item) {
            return store::erase_snapshot(disk_, directory_of(item), item.id);
        });
    }

    int pin(const std::vector<const stored_item*>& items, bool pinned) {
        return change(items, pinned ? "pinned" : "unpinned", [&](const stored_item& item) {
            return store::set_pinned(disk_, directory_of(item), item.id, pinned);
        });
    }

    int release(const std::vector<const stored_item*>& items) {
        return change(items, "released", [this](const stored_item& item) {
            return store::lift_quarantine(disk_, directory_of(item), item.id);
        });
    }

    int collect() {
        const auto bound = request_.max_disk.value_or(settings_.max_disk);
        const auto done = store::collect_garbage(disk_, settings_.root, bound, request_.dry_run);
        for (const auto& [what, reason] : done.removed) {
            say("{} {}: {}", request_.dry_run ? "would remove" : "removed", what, reason);
        }
        say("{} {}, {} {} in {}, of at most {}", format_bytes(done.freed_bytes),
            request_.dry_run ? "would be freed" : "freed", format_bytes(done.left_bytes),
            request_.dry_run ? "would be left" : "left", settings_.root.string(),
            format_bytes(bound));
        for (const auto& directory : done.left_alone) {
            say("left alone: {}, because a daemon uses it, or nothing can be changed there",
                (settings_.root / directory).string());
        }
        int status = 0;
        for (const auto& problem : done.problems) {
            status = fail(problem);
        }
        if (!done.enough) {
            status =
                fail("the bound cannot be kept, because of what is pinned, used by a daemon, or "
                     "not ours; so nothing was removed for it");
        }
        return status;
    }

    const store_request& request_;
    const store_settings& settings_;
    disk& disk_;
    const console& console_;
    store::inventory stored_;
};

} // namespace

int run_store_command(
    const std::vector<std::string>& arguments,
    const store_settings& settings,
    disk& disk,
    const console& console) {
    const auto reading = read_store_arguments(arguments);
    if (!reading.request) {
        (reading.status == 0 ? console.out : console.complaints) << reading.text;
        return reading.status;
    }
    if (settings.root.empty()) {
        console.complaints << "llama-hibernate: There is no store, because neither CACHE_DIRECTORY "
                              "nor XDG_CACHE_HOME nor HOME is set; name it with "
                              "--hibernate-dir.\n";
        return exit_status::usage;
    }
    return store_command(*reading.request, settings, disk, console).run();
}

} // namespace hibernate::commands

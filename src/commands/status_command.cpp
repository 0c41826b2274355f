#include "llama_hibernate/commands/status_command.hpp"

#include <ostream>

#include <fmt/format.h>

#include "llama_hibernate/admin/status.hpp"
#include "llama_hibernate/admin/store_facts.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/base/version.hpp"
#include "llama_hibernate/commands/model_folder.hpp"
#include "llama_hibernate/commands/status_arguments.hpp"
#include "llama_hibernate/commands/status_fetch.hpp"
#include "llama_hibernate/commands/store_place.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/stop_record.hpp"

namespace hibernate::commands {

namespace {

constexpr auto patience = std::chrono::seconds(10);
constexpr unsigned ok = 200;
constexpr unsigned unauthorized = 401;

class status_command {
public:
    status_command(
        const status_request& request,
        const status_settings& settings,
        disk& disk,
        const console& console)
        : request_(request), settings_(settings), disk_(disk), console_(console) {}

    int run() { return request_.model_directory.empty() ? ask_daemon() : look_at_disk(); }

private:
    int fail(const std::string& complaint, int status) {
        console_.complaints << "llama-hibernate: " << printable_text(complaint) << '\n';
        return status;
    }

    int show(const std::string& json) {
        const auto report = report_status(json, settings_.style);
        if (report.empty()) {
            return fail(
                fmt::format("what answers at {} is no llama-hibernate", request_.url),
                exit_status::failure);
        }
        console_.out << (request_.json ? json : report);
        return 0;
    }

    int ask_daemon() {
        const auto url = read_url(request_.url);
        if (!url) {
            return fail(
                fmt::format(
                    "{} is no address such as http://127.0.0.1:8080, https://HOST:PORT or "
                    "unix:/run/llama.sock",
                    request_.url),
                exit_status::usage);
        }
        const auto& key = request_.api_key.empty() ? settings_.api_key : request_.api_key;
        const auto answer = fetch_status(*url, key.substr(0, key.find(',')), patience);
        if (answer.status == 0) {
            return fail(
                fmt::format("nothing answers at {}: {}", request_.url, answer.problem),
                exit_status::no_answer);
        }
        if (answer.status == unauthorized) {
            return fail(
                fmt::format(
                    "{} wants {} API key; give it in LLAMA_API_KEY or with --api-key", request_.url,
                    key.empty() ? "an" : "another"),
                exit_status::failure);
        }
        if (answer.status != ok) {
            return fail(
                fmt::format(
                    "what answers at {} is no llama-hibernate, or has an API prefix (status {})",
                    request_.url, answer.status),
                exit_status::failure);
        }
        return show(answer.body);
    }

    int look_at_disk() {
        const auto place = read_model_place(request_.model_directory, settings_.root);
        if (const auto refused = act_as_owner_of_store(place.root); !refused.empty()) {
            return fail(refused, exit_status::failure);
        }
        const auto folder = find_model_folder(disk_, place);
        if (!folder.problem.empty()) {
            return fail(folder.problem, exit_status::failure);
        }
        admin::overview what;
        what.now = store::wall_now();
        what.version = version;
        what.state = state_on_disk;
        what.state_since = what.now;
        what.started = what.now;
        what.model.directory = folder.name;
        const auto stored = store::take_inventory(disk_, place.root);
        what.store = admin::describe_store(
            stored, place.root, what.model.directory, settings_.bound, what.now);
        what.last_stop = store::read_stop_record(disk_, place.root / folder.name);
        for (const auto& item : stored.items) {
            if (item.directory == what.model.directory && item.manifest) {
                what.model.name = item.manifest->model_name;
                what.model.path = item.manifest->model_path;
            }
        }
        return show(admin::status_as_json(what));
    }

    const status_request& request_;
    const status_settings& settings_;
    disk& disk_;
    const console& console_;
};

} // namespace

int run_status_command(
    const std::vector<std::string>& arguments,
    const status_settings& settings,
    disk& disk,
    const console& console) {
    const auto reading = read_status_arguments(arguments);
    if (!reading.request) {
        (reading.status == 0 ? console.out : console.complaints) << reading.text;
        return reading.status;
    }
    return status_command(*reading.request, settings, disk, console).run();
}

} // namespace hibernate::commands

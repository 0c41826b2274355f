#include "llama_hibernate/app/store_opening.hpp"

#include <chrono>
#include <filesystem>

#include "llama_hibernate/app/advice.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/store/directory_name.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto lock_pause = 50ms;

/// What the model's folder is named after: its whole path, however the user wrote it, or the name
/// of what is to be downloaded.
std::string full_model_name(const llama::server_args& args) {
    if (args.model_path.empty()) {
        return args.model;
    }
    std::error_code ignored;
    const auto path = std::filesystem::absolute(args.model_path, ignored);
    return path.empty() ? args.model : path.lexically_normal().string();
}

} // namespace

awaitable<opened_store> open_store(
    disk& disk, disk_thread& thread, const options& options, const llama::server_args& args) {
    opened_store result;
    const auto given = advise(args);
    for (const auto& line : given.lines) {
        log::warning("{}", line);
    }
    if (!given.keep) {
        result.not_saved = given.lines.front();
        co_return result;
    }
    const auto root =
        args.slot_save_path.empty() ? options.root : std::filesystem::path(args.slot_save_path);
    if (root.empty()) {
        throw startup_error(
            "There is no place for the conversations, because neither CACHE_DIRECTORY nor "
            "XDG_CACHE_HOME nor HOME is set; name one with --hibernate-dir.",
            exit_status::usage);
    }
    const auto name = store::directory_name(full_model_name(args), options.name);
    const auto path = (root / name).string();
    const auto deadline = clock::now() + options.restore_budget;
    bool told = false;
    for (;;) {
        const auto try_open = [&disk, root, name] {
            return store::model_directory::open(disk, root, name);
        };
        auto opened = co_await thread.run(try_open);
        if (opened) {
            result.directory = std::move(*opened);
            const auto read = [&disk, path = result.directory->path()] {
                return std::make_unique<store::write_account>(disk, path);
            };
            result.account = co_await thread.run(read);
            result.room = std::make_unique<store::room_keeper>(
                disk, root, name, store::disk_bound{options.max_disk, options.min_free});
            co_return result;
        }
        const bool locked = opened.error() == boost::system::errc::resource_unavailable_try_again;
        if (!locked || clock::now() >= deadline) {
            result.not_saved = advise_on_folder(
                path, locked ? std::string() : opened.error().message(),
                !args.slot_save_path.empty());
            log::error("{}", result.not_saved);
            co_return result;
        }
        if (!told) {
            log::info("another llama-hibernate still uses {}; waiting for it", path);
            told = true;
        }
        co_await pause(lock_pause);
    }
}

} // namespace hibernate::app

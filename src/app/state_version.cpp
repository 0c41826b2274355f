#include "llama_hibernate/app/state_version.hpp"

#include <string>

#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/llama/state_file.hpp"

namespace hibernate::app {

awaitable<std::optional<std::uint32_t>> learn_state_version(
    llama::client& client,
    disk_thread& thread,
    disk& disk,
    store::model_directory& directory,
    std::chrono::steady_clock::time_point deadline) {
    const auto name = directory.new_staging_name();
    const auto create = [&directory, name] { return directory.create_staging(name); };
    const auto failed = co_await thread.run(create);
    if (failed) {
        log::warning("the format of llama-server's slot files is not known: {}", failed.message());
        co_return std::nullopt;
    }
    const auto saved = co_await client.save_slot(0, name, deadline);
    const auto read = [&disk, &directory, name] {
        auto reading = llama::read_state_file_head(disk, directory.path() / name);
        directory.discard_staging(name);
        return reading;
    };
    const auto reading = co_await thread.run(read);
    if (!saved || !reading.head) {
        log::warning(
            "the format of llama-server's slot files is not known: {}",
            saved ? reading.problem : saved.failure().message);
        co_return std::nullopt;
    }
    co_return reading.head->version;
}

} // namespace hibernate::app

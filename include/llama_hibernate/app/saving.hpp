#pragma once
// Carries out the save at the stop: one save at a time, published as soon as it is written.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

struct save_report {
    std::vector<std::string> saved_ids; ///< committed, to be made durable later
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds time{0};
    std::size_t not_saved = 0; ///< slots that hold something which is not on disk now
};

/// Asks the child what its slots hold and saves the changed ones until the deadline, or until
/// abandoned() says so.
boost::asio::awaitable<save_report> save_slots(
    llama::client& client,
    disk_thread& disk,
    store::model_directory& directory,
    const child_facts& facts,
    std::chrono::steady_clock::time_point deadline,
    std::function<bool()> abandoned);

} // namespace hibernate::app

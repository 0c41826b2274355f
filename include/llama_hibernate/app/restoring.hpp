#pragma once
// Carries out the restore plan: one restore at a time, before any traffic, within its budget.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "llama_hibernate/keeper/restore_plan.hpp"
#include "llama_hibernate/llama/client.hpp"

namespace hibernate::app {

struct restore_report {
    std::vector<std::string> restored_ids;
    std::uint64_t tokens = 0;
    std::chrono::milliseconds time{0};
    std::size_t left_out = 0; ///< planned, but refused by the child or out of time
};

/// Completes when all steps are done, at the deadline, or as soon as abandoned() says so. progress
/// is told before each step: its number from 1 on, and of how many.
boost::asio::awaitable<restore_report> restore_slots(
    llama::client& client,
    const keeper::restore_plan& plan,
    std::chrono::steady_clock::time_point deadline,
    std::function<void(std::size_t, std::size_t)> progress,
    std::function<bool()> abandoned);

} // namespace hibernate::app

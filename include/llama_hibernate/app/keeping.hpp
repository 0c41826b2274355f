#pragma once
// The conversations of this daemon's model: its directory, what is restored from it into the child,
// and what is saved from the child into it. Without a directory that can be used everything here
// does nothing, and says so once: requests are served all the same.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

class keeping {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// options and args outlive it.
    keeping(
        boost::asio::io_context& context, const options& options, const llama::server_args& args);

    /// Opens the model's directory; waits for another daemon that uses it, up to the restore
    /// budget. Throws startup_error when nothing says where it could be.
    boost::asio::awaitable<void> open();

    /// For the child's --slot-save-path; empty when nothing is saved.
    std::string save_path() const;

    /// Learns what the child is and restores what is meant for it, within the restore budget.
    /// Completes with a clause on the outcome ("2 conversations, 3014 tokens restored (85 ms)").
    boost::asio::awaitable<std::string> restore(
        std::shared_ptr<llama::client> client,
        std::function<void(std::size_t, std::size_t)> progress,
        std::function<bool()> abandoned);

    /// When requests are served: notes what was restored, and does what the stop before had no time
    /// for. Goes on in the background.
    void tidy();

    /// Saves every changed slot. Nothing of it is on the medium for sure before finish().
    boost::asio::awaitable<void> save(
        std::shared_ptr<llama::client> client,
        time_point deadline,
        std::function<bool()> abandoned);

    /// Brings what was saved onto the medium, as far as it comes until the deadline.
    boost::asio::awaitable<void> finish(time_point deadline);

    /// Destroying this object would wait for a disk.
    bool disk_is_busy() const noexcept { return background_.busy() || disk_thread_.busy(); }

    /// The child has died: what was known of it is void.
    void forget_child() { facts_.reset(); }

    /// Nothing that can wait is begun any more.
    void stop() { stopping_ = true; }

private:
    boost::asio::awaitable<std::optional<child_facts>>
    learn_facts(llama::client& client, const std::function<bool()>& abandoned);

    // On either disk thread.
    void note_restored(const std::vector<std::string>& ids);
    void make_durable(const std::string& id);
    void remove_surplus(const child_facts& facts);

    boost::asio::io_context& context_;
    const options& options_;
    const llama::server_args& args_;
    std::unique_ptr<disk> disk_;
    std::unique_ptr<store::model_directory> directory_; ///< none: nothing is kept
    std::optional<child_facts> facts_;                  ///< none until the child was understood
    std::vector<std::string> restored_ids_;
    std::vector<std::string> saved_ids_; ///< not durable yet
    std::atomic<bool> stopping_{false};
    // The last, so that they end first.
    disk_thread background_;  ///< for what may take its time
    disk_thread disk_thread_; ///< for what somebody waits for
};

} // namespace hibernate::app

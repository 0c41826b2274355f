#pragma once
// What the store holds, for whoever watches: looked at in the background, on a thread of its own,
// so that nobody waits for a disk that is busy with something larger. What was seen last is shown
// until the next look is done.

#include <chrono>
#include <filesystem>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/inventory.hpp"

namespace hibernate::app {

class store_look {
public:
    /// disk outlives it.
    store_look(boost::asio::io_context& context, disk& disk, std::filesystem::path root);

    struct seen {
        store::inventory stored;
        store::wall_time when{};
    };
    /// Null until the first look is done.
    std::shared_ptr<const seen> latest() const noexcept { return latest_; }

    /// Begins one, unless one is under way, or they are held.
    void begin();

    /// Begins one, and waits for it, but no longer than that.
    awaitable<void> refresh(std::chrono::milliseconds patience);

    /// From now on none begins; completes when none is under way.
    awaitable<void> hold();
    void release() noexcept { held_ = false; }

    bool busy() const noexcept { return thread_.busy(); }

private:
    disk& disk_;
    std::filesystem::path root_;
    std::shared_ptr<const seen> latest_;
    bool held_ = false;
    bool under_way_ = false;
    disk_thread thread_; ///< the last, so that it ends first
};

} // namespace hibernate::app

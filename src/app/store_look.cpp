#include "llama_hibernate/app/store_look.hpp"

#include <utility>

#include "llama_hibernate/base/pause.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto poll_pause = 2ms;

} // namespace

store_look::store_look(asio::io_context& context, disk& disk, std::filesystem::path root)
    : disk_(disk), root_(std::move(root)), thread_(context) {}

void store_look::begin() {
    if (held_ || std::exchange(under_way_, true)) {
        return;
    }
    const auto found = std::make_shared<seen>();
    const auto look = [found, &disk = disk_, root = root_] {
        found->stored = store::take_inventory(disk, root);
        found->when = store::wall_now();
    };
    thread_.start(look, [this, found] {
        latest_ = found;
        under_way_ = false;
    });
}

awaitable<void> store_look::refresh(std::chrono::milliseconds patience) {
    const auto deadline = clock::now() + patience;
    begin();
    while (under_way_ && clock::now() < deadline) {
        co_await pause(poll_pause);
    }
}

awaitable<void> store_look::hold() {
    held_ = true;
    while (under_way_) {
        co_await pause(poll_pause);
    }
}

} // namespace hibernate::app

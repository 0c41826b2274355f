#include "llama_hibernate/app/service_notifier.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace hibernate::app {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

std::string variable(const llama::environment_map& environment, const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

} // namespace

service_notifier::service_notifier(
    boost::asio::io_context& context, const llama::environment_map& environment)
    : socket_(variable(environment, "NOTIFY_SOCKET")),
      notices_(keeper::watchdog_time(
          variable(environment, "WATCHDOG_USEC"), variable(environment, "WATCHDOG_PID"), getpid())),
      again_(context) {
    tell();
}

void service_notifier::enter(const keeper::lifecycle& life, clock::time_point stop_deadline) {
    if (condition_.phase != life.phase()) {
        condition_.detail = std::exchange(next_detail_, {});
    }
    condition_.phase = life.phase();
    condition_.stopping = life.stop_was_requested();
    stop_deadline_ = stop_deadline;
    tell();
}

void service_notifier::detail(std::string text) {
    condition_.detail = std::move(text);
    tell();
}

void service_notifier::tell() {
    if (!socket_.is_open()) {
        return;
    }
    if (condition_.stopping) {
        const auto left = std::chrono::ceil<milliseconds>(stop_deadline_ - clock::now());
        condition_.stop_time_left = std::max(left, milliseconds(0));
    }
    const auto message = notices_.message(condition_);
    if (message.empty() || socket_.send(message)) {
        notices_.delivered(condition_);
    }
    again_.cancel();
    if (const auto pause = notices_.interval(condition_)) {
        again_.expires_after(*pause);
        again_.async_wait([this](const boost::system::error_code& cancelled) {
            if (!cancelled) {
                tell();
            }
        });
    }
}

} // namespace hibernate::app

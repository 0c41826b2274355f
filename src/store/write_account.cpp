#include "llama_hibernate/store/write_account.hpp"

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "llama_hibernate/base/log.hpp"
#include "snapshot_files.hpp"

namespace hibernate::store {

using nlohmann::json;

namespace {

constexpr std::size_t max_account_bytes = 4096;

std::string day_of(wall_time time) {
    const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(time);
    return fmt::format("{:%Y-%m-%d}", fmt::gmtime(seconds.time_since_epoch().count()));
}

} // namespace

write_account::write_account(disk& disk, const std::filesystem::path& directory)
    : disk_(disk), file_(directory / written_name) {
    const auto text = disk.read(file_, 0, max_account_bytes);
    const auto object = text ? json::parse(*text, nullptr, false) : json();
    const bool valid = object.is_object() && object.contains("day") && object["day"].is_string() &&
                       object.contains("bytes") && object["bytes"].is_number_unsigned();
    if (valid) {
        day_ = object["day"].get<std::string>();
        bytes_ = object["bytes"].get<std::uint64_t>();
    }
}

std::uint64_t write_account::written_today(wall_time now) const {
    const std::lock_guard lock(mutex_);
    return day_ == day_of(now) ? bytes_ : 0;
}

void write_account::note(std::uint64_t bytes, wall_time now) {
    json object;
    {
        const std::lock_guard lock(mutex_);
        const auto today = day_of(now);
        bytes_ = (day_ == today ? bytes_ : 0) + bytes;
        day_ = today;
        object = {{"day", day_}, {"bytes", bytes_}};
    }
    if (const auto failed = disk_.replace(file_, object.dump() + "\n", when_synced::later)) {
        log::debug("{} cannot be written: {}", file_.string(), failed.message());
    }
}

} // namespace hibernate::store

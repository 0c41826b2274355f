// Adoption as a part of keeping: what file_adopter needs of the store and of the saving code.

#include <utility>

#include <fmt/core.h>

#include "llama_hibernate/app/adopting.hpp"
#include "llama_hibernate/app/keeping.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/size.hpp"

namespace hibernate::app {

using clock = std::chrono::steady_clock;

awaitable<adoption_report>
keeping::adopt(std::shared_ptr<llama::client> client, std::function<bool()> abandoned) {
    // Room for one is not made from another.
    const auto kept = std::make_shared<std::set<std::string>>();
    file_adopter::hooks told;
    told.find_room = [this](std::uint64_t bytes) -> std::string {
        const auto free = disk_->free_space(directory_->path());
        if (free && *free < bytes + options_.min_free) {
            return fmt::format(
                "its copy would not leave {} free on the disk of the store",
                format_bytes(options_.min_free));
        }
        return {};
    };
    told.goes_on = [this] { return !stopping_; };
    told.offered = [this](const std::string& file) { offered_file_ = file; };
    told.abandoned = abandoned;
    told.save = [this, client, kept](keeper::slot_to_save slot, file_adopter::time_point limit) {
        return save_adopted(client, kept, slot, limit);
    };
    file_adopter adopter(
        *client, disk_thread_, *disk_, *directory_, *facts_, options_.min_tokens, std::move(told));
    const auto deadline = clock::now() + options_.restore_budget;
    const auto report = co_await adopter.run(options_.adopt, deadline);
    journal_.forget_child(); // it is in no slot any more
    co_return report;
}

awaitable<std::optional<std::string>> keeping::save_adopted(
    std::shared_ptr<llama::client> client,
    std::shared_ptr<std::set<std::string>> kept,
    keeper::slot_to_save slot,
    time_point limit) {
    std::optional<std::string> id;
    if (!facts_) {
        co_return id; // the child has just died
    }
    just_saved_ = *kept;
    const char* const reason = "adopt";
    const auto no_history = [](int) { return slot_saver::slot_history{}; };
    auto saver = make_saver(*client, no_history);
    auto report = co_await saver.save_one(slot, reason, slot_saver::extent::whole_only, limit);
    note(report);
    journal_.note_save(reason, report, [](int) { return keeper::slot_turns{{}, false}; });
    if (!report.saved.empty()) {
        id = report.saved.front().id;
        kept->insert(*id);
        // That the file was adopted is noted behind this, on the same thread: a power cut must not
        // leave the note without the snapshot.
        disk_thread_.start([this, saved = *id] { make_durable(saved); }, [] {});
    }
    const auto note = [this, bytes = report.bytes] { account_->note(bytes, store::wall_now()); };
    disk_thread_.start(note, [] {});
    co_return id;
}

} // namespace hibernate::app

#include "verifier.hpp"

#include <chrono>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/commands/progress_bar.hpp"
#include "llama_hibernate/store/verification.hpp"

namespace hibernate::commands {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using store::stored_item;
using verdict = store::verification::verdict;

namespace {

constexpr auto redraw_pause = 100ms;

/// One line of a terminal that is written over and over.
class progress_display {
public:
    progress_display(const console& console, std::uint64_t all) : console_(console), all_(all) {}
    ~progress_display() { hide(); }
    progress_display(const progress_display&) = delete;
    progress_display& operator=(const progress_display&) = delete;

    void show(std::uint64_t done) {
        const auto now = clock::now();
        if (console_.columns == 0 || (shown_ && now - drawn_ < redraw_pause)) {
            return;
        }
        console_.complaints << '\r' << progress_line(done, all_, console_.columns - 1)
                            << std::flush;
        shown_ = true;
        drawn_ = now;
    }

    /// Before anything else is written.
    void hide() {
        if (std::exchange(shown_, false)) {
            console_.complaints << '\r' << std::string(console_.columns - 1, ' ') << '\r'
                                << std::flush;
        }
    }

private:
    const console& console_;
    std::uint64_t all_;
    bool shown_ = false;
    clock::time_point drawn_;
};

bool is_gone(disk& disk, const std::filesystem::path& root, const stored_item& item) {
    const auto manifest = disk.size(root / item.directory / item.file_names.front());
    return manifest.has_error() &&
           manifest.error() == boost::system::errc::no_such_file_or_directory;
}

} // namespace

bool verify_items(
    disk& disk,
    const std::filesystem::path& root,
    const std::vector<const stored_item*>& items,
    const console& console) {
    std::uint64_t all = 0;
    for (const auto* item : items) {
        all += item->bytes;
    }
    progress_display progress(console, all);
    std::uint64_t done = 0;
    std::size_t failed = 0;
    for (const auto* item : items) {
        progress.show(done);
        const auto watch = [&](std::uint64_t bytes) {
            progress.show(done + bytes);
            return true;
        };
        const auto found = store::verify_snapshot(disk, root / item->directory, item->id, watch);
        done += item->bytes;
        std::string line;
        if (found.problem.empty()) {
            line = found.what == verdict::not_summed ? "as far as its size tells (no checksum yet)"
                                                     : "sound";
        } else if (is_gone(disk, root, *item)) {
            line = "gone meanwhile";
        } else {
            ++failed;
            line = fmt::format("FAILED: {}", found.problem);
        }
        progress.hide();
        console.out << item->id << "  " << line << '\n' << std::flush;
    }
    progress.hide();
    console.out << fmt::format(
        "{} of {} sound, {} read\n", items.size() - failed, items.size(), format_bytes(all));
    return failed == 0;
}

} // namespace hibernate::commands

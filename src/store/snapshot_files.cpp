#include "snapshot_files.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/core.h>

namespace hibernate::store {

namespace fs = std::filesystem;
namespace errc = boost::system::errc;
using namespace std::chrono_literals;

namespace {

/// A manifest has about a KiB; more is not worth the memory.
constexpr std::size_t max_manifest_bytes = std::size_t{1024} * 1024;

/// Whoever has the lock writes a KiB; longer only if the process is stopped, or the disk.
constexpr auto edit_patience = 2s;
constexpr auto edit_pause = 5ms;

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char digit) {
        return digit >= '0' && digit <= '9';
    });
}

std::string what_is_wrong(
    const manifest& saved,
    const io_result<std::uint64_t>& size,
    const llama::state_file_start_reading& reading) {
    if (!size) {
        return fmt::format("its state file cannot be read: {}", size.error().message());
    }
    if (*size != saved.bytes) {
        return fmt::format("its state file has {} bytes, but {} were saved", *size, saved.bytes);
    }
    if (!reading.start) {
        return fmt::format("its state file is damaged: {}", reading.problem);
    }
    if (reading.start->tokens != saved.tokens) {
        return fmt::format(
            "its state file has {} tokens, but {} were saved", reading.start->tokens, saved.tokens);
    }
    if (reading.start->version != saved.state_version) {
        return fmt::format(
            "its state file is of version {}, but {} was saved", reading.start->version,
            saved.state_version);
    }
    return {};
}

/// What the start of a file would tell whose head was read.
llama::state_file_start_reading start_of(const llama::state_file_reading& reading) {
    if (!reading.head) {
        return {{}, reading.problem};
    }
    return {llama::state_file_start{reading.head->version, reading.head->tokens.size()}, {}};
}

} // namespace

bool is_staging_name(std::string_view name) {
    constexpr std::string_view prefix = "staging-";
    if (!name.starts_with(prefix) || !name.ends_with(state_extension)) {
        return false;
    }
    name.remove_prefix(prefix.size());
    name.remove_suffix(std::min(name.size(), state_extension.size()));
    const auto hyphen = name.find('-');
    return hyphen != std::string_view::npos && is_number(name.substr(0, hyphen)) &&
           is_number(name.substr(hyphen + 1));
}

io_result<name_set> names_in(disk& disk, const fs::path& directory) {
    const auto entries = disk.list(directory);
    if (!entries) {
        return entries.error();
    }
    name_set names;
    for (const auto& entry : *entries) {
        names.insert(entry.name);
    }
    return names;
}

std::vector<std::string> committed_ids(const name_set& names) {
    std::vector<std::string> ids;
    for (const auto& name : names) {
        if (is_snapshot_name(name, manifest_extension)) {
            ids.push_back(name.substr(0, name.size() - manifest_extension.size()));
        }
    }
    return ids;
}

fs::path file_of(const fs::path& directory, const std::string& id, std::string_view extension) {
    return directory / fmt::format("{}{}", id, extension);
}

manifest_reading load_manifest(disk& disk, const fs::path& directory, const std::string& id) {
    const auto file = file_of(directory, id, manifest_extension);
    const auto text = disk.read(file, 0, max_manifest_bytes + 1);
    if (!text) {
        return {{}, fmt::format("its manifest cannot be read: {}", text.error().message()), true};
    }
    if (text->size() > max_manifest_bytes) {
        return {{}, fmt::format("its manifest has more than {} bytes", max_manifest_bytes), false};
    }
    auto reading = read_manifest(*text);
    if (!reading.value) {
        reading.problem = fmt::format("its manifest is unusable: {}", reading.problem);
        return reading;
    }
    if (reading.value->id != id) {
        return {{}, fmt::format("its manifest is that of {}", reading.value->id), false};
    }
    return reading;
}

io_result<std::unique_ptr<file_lock>> lock_for_edit(disk& disk, const fs::path& directory) {
    const auto deadline = std::chrono::steady_clock::now() + edit_patience;
    for (;;) {
        auto lock = disk.try_lock(directory);
        if (!lock) {
            return std::unique_ptr<file_lock>{};
        }
        if (*lock) {
            return lock;
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return errc::make_error_code(errc::resource_unavailable_try_again);
        }
        std::this_thread::sleep_for(edit_pause);
    }
}

error_code edit_manifest(
    disk& disk,
    const fs::path& directory,
    const std::string& id,
    when_synced when,
    const std::function<void(manifest&)>& change) {
    const auto lock = lock_for_edit(disk, directory);
    if (!lock) {
        return lock.error();
    }
    auto saved = load_manifest(disk, directory, id);
    if (!saved.value) {
        return errc::make_error_code(errc::no_such_file_or_directory);
    }
    change(*saved.value);
    return disk.replace(
        file_of(directory, id, manifest_extension), write_manifest(*saved.value), when);
}

snapshot_reading
load_snapshot(disk& disk, const fs::path& directory, const std::string& id, read_extent extent) {
    snapshot_reading result;
    auto saved = load_manifest(disk, directory, id);
    if (!saved.value) {
        result.problem = std::move(saved.problem);
        return result;
    }
    if (!saved.value->quarantine.empty()) {
        result.problem = std::move(saved.value->quarantine);
        result.quarantined = true;
        return result;
    }
    return examine_snapshot(disk, directory, std::move(*saved.value), extent);
}

snapshot_reading
examine_snapshot(disk& disk, const fs::path& directory, manifest saved, read_extent extent) {
    snapshot_reading result;
    if (!saved.synced && saved.boot_id != boot_id()) {
        result.problem = lost_with_its_boot;
        result.damaged = true;
        return result;
    }
    const auto file = file_of(directory, saved.id, state_extension);
    llama::state_file_reading whole;
    llama::state_file_start_reading start;
    if (extent == read_extent::head) {
        whole = llama::read_state_file_head(disk, file);
        start = start_of(whole);
    } else {
        start = llama::read_state_file_start(disk, file);
    }
    const auto size = disk.size(file);
    result.problem = what_is_wrong(saved, size, start);
    if (!result.problem.empty()) {
        // A disk that fails or forbids the reading says nothing about the content.
        result.damaged = size && disk.read(file, 0, 1);
        return result;
    }
    result.manifest = std::move(saved);
    if (whole.head) {
        result.head = std::move(*whole.head);
    }
    return result;
}

error_code remove_snapshot(disk& disk, const fs::path& directory, const std::string& id) {
    const auto lock = lock_for_edit(disk, directory);
    if (!lock) {
        return lock.error();
    }
    if (const auto failed = disk.remove(file_of(directory, id, manifest_extension))) {
        return failed;
    }
    return disk.remove(file_of(directory, id, state_extension));
}

} // namespace hibernate::store

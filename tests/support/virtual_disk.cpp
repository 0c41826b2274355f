#include "virtual_disk.hpp"

#include <algorithm>
#include <utility>

#include "llama_hibernate/base/hash.hpp"

namespace hibernate::test {

namespace fs = std::filesystem;

namespace {

error_code make_error(boost::system::errc::errc_t what) {
    return boost::system::errc::make_error_code(what);
}

} // namespace

/// Holds its place in the set of locks, which outlives the disk if need be.
class virtual_disk::lock final : public file_lock {
public:
    lock(std::shared_ptr<std::set<std::string>> locked, std::string name)
        : locked_(std::move(locked)), name_(std::move(name)) {
        locked_->insert(name_);
    }
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    ~lock() override { locked_->erase(name_); }

private:
    std::shared_ptr<std::set<std::string>> locked_;
    std::string name_;
};

void virtual_disk::put(const fs::path& file, std::string_view content) {
    add_parents(file);
    entries_[file.string()] =
        std::make_shared<entry>(entry{kind::file, std::string(content), false, false});
}

void virtual_disk::put_link(const fs::path& link) {
    add_parents(link);
    entries_[link.string()] = std::make_shared<entry>(entry{kind::link, {}, false, true});
}

void virtual_disk::change_byte(const fs::path& file, std::size_t offset) {
    auto& byte = entries_.at(file.string())->content.at(offset);
    byte = static_cast<char>(byte ^ 1);
}

bool virtual_disk::exists(const fs::path& path) const {
    return entries_.contains(path.string());
}

bool virtual_disk::is_private(const fs::path& path) const {
    const auto found = entries_.find(path.string());
    return found != entries_.end() && found->second->is_private;
}

std::string virtual_disk::content(const fs::path& file) const {
    const auto found = entries_.find(file.string());
    return found == entries_.end() ? std::string() : found->second->content;
}

std::vector<std::string> virtual_disk::names(const fs::path& directory) const {
    std::vector<std::string> found;
    for (const auto& [path, about] : entries_) {
        if (fs::path(path).parent_path() == directory && path != directory.string()) {
            found.push_back(fs::path(path).filename().string());
        }
    }
    return found;
}

void virtual_disk::kill_at_step(unsigned number) {
    steps_ = 0;
    record_.clear();
    killing_step_ = number;
}

void virtual_disk::fail_at_step(unsigned number, error_code failure) {
    steps_ = 0;
    record_.clear();
    failing_step_ = number;
    failure_ = failure;
}

void virtual_disk::fail_path(const fs::path& path, error_code failure) {
    steps_ = 0;
    record_.clear();
    failing_paths_[path.string()] = failure;
}

void virtual_disk::restart() {
    steps_ = 0;
    killing_step_ = 0;
    failing_step_ = 0;
    record_.clear();
    failing_paths_.clear();
    locked_ = std::make_shared<std::set<std::string>>();
}

void virtual_disk::lose_unsynced_names() {
    for (const auto& [directory, synced] : synced_names_) {
        for (const auto& name : names(directory)) {
            const auto path = (fs::path(directory) / name).string();
            if (const auto found = synced.find(path); found != synced.end()) {
                entries_[path] = found->second;
            } else {
                entries_.erase(path);
            }
        }
    }
}

void virtual_disk::lose_unsynced_data() {
    for (auto& [path, about] : entries_) {
        if (about->what == kind::file && !about->synced) {
            about->content.assign(about->content.size(), '\0');
        }
    }
}

error_code virtual_disk::step(const fs::path& path) {
    ++steps_;
    if (killing_step_ != 0 && steps_ >= killing_step_) {
        throw killed{};
    }
    if (steps_ == failing_step_) {
        return failure_;
    }
    const auto failing = failing_paths_.find(path.string());
    return failing == failing_paths_.end() ? error_code{} : failing->second;
}

io_result<virtual_disk::entry*> virtual_disk::regular_file(const fs::path& file) {
    const auto found = entries_.find(file.string());
    if (found == entries_.end()) {
        return make_error(boost::system::errc::no_such_file_or_directory);
    }
    if (found->second->what != kind::file) {
        return make_error(boost::system::errc::too_many_symbolic_link_levels);
    }
    return found->second.get();
}

void virtual_disk::add_parents(const fs::path& path) {
    for (auto parent = path.parent_path(); parent != parent.root_path();
         parent = parent.parent_path()) {
        entries_.try_emplace(
            parent.string(), std::make_shared<entry>(entry{kind::directory, {}, true, true}));
    }
}

error_code virtual_disk::create_private_directory(const fs::path& directory) {
    if (const auto failed = step(directory)) {
        return failed;
    }
    add_parents(directory);
    auto& made =
        *entries_.try_emplace(directory.string(), std::make_shared<entry>(entry{kind::directory}))
             .first->second;
    if (made.what != kind::directory) {
        return make_error(boost::system::errc::not_a_directory);
    }
    made.is_private = true;
    return {};
}

error_code virtual_disk::create_private_file(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    if (exists(file)) {
        return make_error(boost::system::errc::file_exists);
    }
    record_.push_back("create " + file.string());
    entries_[file.string()] = std::make_shared<entry>(entry{kind::file, {}, true, false});
    return {};
}

error_code virtual_disk::check_writable(const fs::path& directory) {
    return step(directory);
}

io_result<std::vector<file_entry>> virtual_disk::list(const fs::path& directory) {
    if (const auto failed = step(directory)) {
        return failed;
    }
    if (!exists(directory)) {
        return make_error(boost::system::errc::no_such_file_or_directory);
    }
    std::vector<file_entry> found;
    for (const auto& name : names(directory)) {
        const auto& about = *entries_.at((directory / name).string());
        found.push_back(
            {name, about.content.size(), about.what == kind::file, about.what == kind::directory});
    }
    return found;
}

io_result<std::uint64_t> virtual_disk::size(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    return std::uint64_t{(*found)->content.size()};
}

io_result<std::string> virtual_disk::version(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    return std::to_string(std::hash<std::string>{}((*found)->content));
}

io_result<std::uint64_t> virtual_disk::free_space(const fs::path& directory) {
    if (const auto failed = step(directory)) {
        return failed;
    }
    return free_space_;
}

io_result<std::string>
virtual_disk::read(const fs::path& file, std::uint64_t offset, std::size_t max_bytes) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    const auto& content = (*found)->content;
    if (offset >= content.size()) {
        return std::string();
    }
    return content.substr(static_cast<std::size_t>(offset), max_bytes);
}

error_code virtual_disk::replace(const fs::path& file, std::string_view content, when_synced when) {
    const auto temporary = file.string() + ".tmp";
    if (const auto failed = step(file)) {
        return failed;
    }
    record_.push_back("create " + temporary);
    // A kill while it is being written leaves a part of it.
    const auto made = std::make_shared<entry>(
        entry{kind::file, std::string(content.substr(0, content.size() / 2)), true, false});
    entries_[temporary] = made;
    const auto give_up = [&](error_code failed) {
        entries_.erase(temporary);
        return failed;
    };
    if (const auto failed = step(file)) {
        return give_up(failed);
    }
    record_.push_back("write " + temporary);
    made->content = content;
    if (when == when_synced::now) {
        if (const auto failed = step(file)) {
            return give_up(failed);
        }
        record_.push_back("sync " + temporary);
        made->synced = true;
    }
    if (const auto failed = rename(temporary, file)) {
        return give_up(failed);
    }
    return {};
}

error_code virtual_disk::copy(
    const fs::path& from,
    std::uint64_t offset,
    const fs::path& to,
    std::string_view start,
    const read_watch& watch) {
    if (watch && !watch(offset)) {
        return make_error(boost::system::errc::operation_canceled);
    }
    if (const auto failed = step(to)) {
        return failed;
    }
    const auto found = regular_file(from);
    if (!found) {
        return found.error();
    }
    if (entries_.contains(to.string())) {
        return make_error(boost::system::errc::file_exists);
    }
    record_.push_back("copy " + from.string() + " " + to.string());
    const auto& content = (*found)->content;
    const auto rest = std::min<std::size_t>(static_cast<std::size_t>(offset), content.size());
    entries_[to.string()] = std::make_shared<entry>(
        entry{kind::file, std::string(start) + content.substr(rest), true, false});
    return {};
}

error_code virtual_disk::rename(const fs::path& from, const fs::path& to) {
    if (const auto failed = step(to)) {
        return failed;
    }
    const auto found = entries_.find(from.string());
    if (found == entries_.end()) {
        return make_error(boost::system::errc::no_such_file_or_directory);
    }
    record_.push_back("rename " + from.string() + " " + to.string());
    auto moved = std::move(found->second);
    entries_.erase(found);
    entries_[to.string()] = std::move(moved);
    return {};
}

error_code virtual_disk::make_private(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    (*found)->is_private = true;
    return {};
}

error_code virtual_disk::remove(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = entries_.find(file.string());
    if (found == entries_.end()) {
        return {};
    }
    if (found->second->what == kind::directory) {
        return make_error(boost::system::errc::is_a_directory);
    }
    record_.push_back("remove " + file.string());
    entries_.erase(found);
    return {};
}

error_code virtual_disk::sync_file(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    record_.push_back("sync " + file.string());
    (*found)->synced = true;
    return {};
}

error_code virtual_disk::sync_directory(const fs::path& directory) {
    if (const auto failed = step(directory)) {
        return failed;
    }
    record_.push_back("sync " + directory.string());
    auto& synced = synced_names_[directory.string()];
    synced.clear();
    for (const auto& name : names(directory)) {
        const auto path = (directory / name).string();
        synced[path] = entries_.at(path);
    }
    return {};
}

io_result<std::string> virtual_disk::checksum(const fs::path& file, const read_watch& watch) {
    if (watch && !watch(0)) {
        return boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
    }
    if (const auto failed = step(file)) {
        return failed;
    }
    const auto found = regular_file(file);
    if (!found) {
        return found.error();
    }
    hasher128 hash;
    hash.update((*found)->content);
    return hash.hex();
}

io_result<std::unique_ptr<file_lock>> virtual_disk::try_lock(const fs::path& file) {
    if (const auto failed = step(file)) {
        return failed;
    }
    if (locked_->contains(file.string())) {
        return std::unique_ptr<file_lock>{};
    }
    entries_.try_emplace(file.string(), std::make_shared<entry>(entry{kind::file, {}, true, true}));
    return std::unique_ptr<file_lock>(std::make_unique<lock>(locked_, file.string()));
}

} // namespace hibernate::test

#pragma once
// A disk in memory for tests: it records what was done to it, fails where it is told to, and can
// "kill" the process at any step, so that a test can try every instant of an operation.
//
// Each call is one step, except replace(), which is four: create, write, sync (if it is to be now),
// rename. A step that is not reached has changed nothing. Paths are compared as text.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "llama_hibernate/base/disk.hpp"

namespace hibernate::test {

/// What a killed disk throws, before the step takes effect and from every step after it.
struct killed {};

class virtual_disk final : public disk {
public:
    virtual_disk() = default;
    virtual_disk(const virtual_disk&) = delete;
    virtual_disk& operator=(const virtual_disk&) = delete;

    // What others do to the disk: no steps, never failing, not recorded.

    /// A file as another process writes it: not private, not synced. Its directories appear too.
    void put(const std::filesystem::path& file, std::string_view content);
    void put_link(const std::filesystem::path& link);
    /// Damages a file without touching the rest of it.
    void change_byte(const std::filesystem::path& file, std::size_t offset);
    void set_free_space(std::uint64_t bytes) { free_space_ = bytes; }

    bool exists(const std::filesystem::path& path) const;
    bool is_private(const std::filesystem::path& path) const;
    std::string content(const std::filesystem::path& file) const; ///< empty if there is none
    /// The names in a directory, sorted.
    std::vector<std::string> names(const std::filesystem::path& directory) const;

    // Faults.

    /// Calls of the step with this number, counted from 1 and from now, kill or fail.
    void kill_at_step(unsigned number);
    void fail_at_step(unsigned number, error_code failure);
    /// Every step that touches the path fails, until no failure is set again.
    void fail_path(const std::filesystem::path& path, error_code failure);
    /// A new process on the same disk: no faults, no locks, no record.
    void restart();
    /// The worst that a power cut does to names: in each directory that was ever synced, those made
    /// or renamed since are not there, or lead to what they led to then, yet those removed are
    /// gone.
    void lose_unsynced_names();
    /// What a power cut does to data that nobody synced: it is zeros, under the names that are
    /// there.
    void lose_unsynced_data();

    /// Steps since the last fault was set or the last restart.
    unsigned steps() const noexcept { return steps_; }
    /// What changed since then, in order: "create a", "write a", "sync a", "rename a b", ...
    const std::vector<std::string>& record() const noexcept { return record_; }

    error_code create_private_directory(const std::filesystem::path& directory) override;
    error_code create_private_file(const std::filesystem::path& file) override;
    error_code check_writable(const std::filesystem::path& directory) override;
    io_result<std::vector<file_entry>> list(const std::filesystem::path& directory) override;
    io_result<std::uint64_t> size(const std::filesystem::path& file) override;
    io_result<std::string> version(const std::filesystem::path& file) override;
    io_result<std::uint64_t> free_space(const std::filesystem::path& directory) override;
    io_result<std::string>
    read(const std::filesystem::path& file, std::uint64_t offset, std::size_t max_bytes) override;
    error_code
    replace(const std::filesystem::path& file, std::string_view content, when_synced when) override;
    error_code copy(
        const std::filesystem::path& from,
        std::uint64_t offset,
        const std::filesystem::path& to,
        std::string_view start,
        const read_watch& watch) override;
    error_code rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
    error_code make_private(const std::filesystem::path& file) override;
    error_code remove(const std::filesystem::path& file) override;
    error_code sync_file(const std::filesystem::path& file) override;
    error_code sync_directory(const std::filesystem::path& directory) override;
    io_result<std::string>
    checksum(const std::filesystem::path& file, const read_watch& watch) override;
    io_result<std::unique_ptr<file_lock>> try_lock(const std::filesystem::path& file) override;

private:
    enum class kind { file, directory, link };
    struct entry {
        kind what = kind::file;
        std::string content{};
        bool is_private = false;
        bool synced = false;
    };
    class lock;
    /// By path. An entry keeps its identity when it is renamed.
    using entry_map = std::map<std::string, std::shared_ptr<entry>>;

    error_code step(const std::filesystem::path& path);
    io_result<entry*> regular_file(const std::filesystem::path& file);
    void add_parents(const std::filesystem::path& path);

    entry_map entries_;
    std::map<std::string, entry_map> synced_names_; ///< by directory
    std::shared_ptr<std::set<std::string>> locked_ = std::make_shared<std::set<std::string>>();
    std::vector<std::string> record_;
    std::map<std::string, error_code> failing_paths_;
    std::uint64_t free_space_ = std::uint64_t{1} << 40;
    unsigned steps_ = 0;
    unsigned killing_step_ = 0;
    unsigned failing_step_ = 0;
    error_code failure_;
};

} // namespace hibernate::test

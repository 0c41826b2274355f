#pragma once
// The one seam between us and the file system: what the store does to disks, as an interface, so
// that a test can make any of it fail, or keep it all in memory.
//
// No operation on a file but version() follows a symbolic link in the last component of its path (a
// directory may be one: people put caches on other disks that way), and whatever is created is
// private from its first instant: directories 0700, files 0600. Failure is an error_code; nothing
// throws, and nothing here logs. All calls block: they belong on the disk thread, or before
// serving.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace hibernate {

using boost::system::error_code;
template <typename T>
using io_result = boost::system::result<T>; ///< a T, or the error_code of what the system refused

struct file_entry {
    std::string name;
    std::uint64_t bytes = 0;
    bool regular = false; ///< neither a directory nor a link nor anything else
    bool directory = false;
};

/// An exclusive lock (flock) on a file; released when destroyed, and by the kernel when we die.
class file_lock {
public:
    virtual ~file_lock() = default;
};

/// Whether a file's data is on the medium when the call returns, or some time later.
enum class when_synced { now, later };

/// Asked again and again while a long file is read, with the bytes that were read so far: whether
/// to go on. None: to the end.
using read_watch = std::function<bool(std::uint64_t bytes)>;

class disk {
public:
    virtual ~disk() = default;

    /// Creates the directory and its missing parents. One that is there already is made 0700; it
    /// fails with not_a_directory when it is something else, a link too, and with
    /// operation_not_permitted when it is another user's, who could change what is in it.
    virtual error_code create_private_directory(const std::filesystem::path& directory) = 0;

    /// An empty file for somebody else to write to, ours alone from its first instant; fails with
    /// file_exists when the name is taken, by a link too.
    virtual error_code create_private_file(const std::filesystem::path& file) = 0;

    /// An error unless a file can be created in the directory right now.
    virtual error_code check_writable(const std::filesystem::path& directory) = 0;

    virtual io_result<std::vector<file_entry>> list(const std::filesystem::path& directory) = 0;
    virtual io_result<std::uint64_t> size(const std::filesystem::path& file) = 0;
    /// Differs once the file was replaced or written to. Links are followed here: what counts is
    /// what a reader of that name would get.
    virtual io_result<std::string> version(const std::filesystem::path& file) = 0;
    virtual io_result<std::uint64_t> free_space(const std::filesystem::path& directory) = 0;

    /// At most max_bytes from offset on; less only at the end of the file. What is no regular file
    /// is refused, and never waited for.
    virtual io_result<std::string>
    read(const std::filesystem::path& file, std::uint64_t offset, std::size_t max_bytes) = 0;

    /// Writes file + ".tmp" and renames it to file: whatever happens to us, the old content or the
    /// new one is there, never a part. With when_synced::now that holds for a power cut, too;
    /// without, it is quick even while the disk is busy with gigabytes.
    virtual error_code replace(
        const std::filesystem::path& file,
        std::string_view content,
        when_synced when = when_synced::now) = 0;

    /// A new file, ours alone from its first instant, of start and then what stands in from at
    /// offset and behind it; fails with file_exists when its name is taken, and with
    /// operation_canceled soon after watch says no. A failure leaves no file. from is only read.
    virtual error_code copy(
        const std::filesystem::path& from,
        std::uint64_t offset,
        const std::filesystem::path& to,
        std::string_view start = {},
        const read_watch& watch = {}) = 0;

    virtual error_code
    rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    /// Makes a file that somebody else created ours alone: 0600.
    virtual error_code make_private(const std::filesystem::path& file) = 0;
    virtual error_code remove(const std::filesystem::path& file) = 0; ///< no error if it is gone

    /// Until the file's data, and the directory's names, are on the medium.
    virtual error_code sync_file(const std::filesystem::path& file) = 0;
    virtual error_code sync_directory(const std::filesystem::path& directory) = 0;

    /// XXH3-128 of the whole file, in hex; errc::operation_canceled soon after watch says no.
    virtual io_result<std::string>
    checksum(const std::filesystem::path& file, const read_watch& watch = {}) = 0;

    /// Null (and no error) if somebody else holds the lock. Creates the file, if it is not a
    /// directory, which can be locked as well.
    virtual io_result<std::unique_ptr<file_lock>> try_lock(const std::filesystem::path& file) = 0;
};

/// The disk of this machine.
std::unique_ptr<disk> make_real_disk();

/// Distinguishes one boot of this machine from the next. Where the system does not tell, it is an
/// id of this process alone: the machine may have been restarted since any other one ran.
const std::string& boot_id();

} // namespace hibernate

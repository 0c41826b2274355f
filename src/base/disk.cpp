#include "llama_hibernate/base/disk.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include <dirent.h>
#include <fmt/core.h>

#include "llama_hibernate/base/hash.hpp"
#include "llama_hibernate/base/platform.hpp"

namespace hibernate {

namespace fs = std::filesystem;

namespace {

constexpr mode_t private_directory = 0700;
constexpr mode_t private_file = 0600;
constexpr std::size_t block_bytes = std::size_t{1024} * 1024;

error_code last_error() {
    return {errno, boost::system::system_category()};
}
error_code make_error(boost::system::errc::errc_t what) {
    return boost::system::errc::make_error_code(what);
}

timespec change_time(const struct stat& about) {
#if defined(__APPLE__)
    return about.st_mtimespec;
#else
    return about.st_mtim;
#endif
}

/// An open file; closed when it goes out of scope.
class descriptor {
public:
    explicit descriptor(int value) : value_(value) {}
    ~descriptor() {
        if (value_ >= 0) {
            close(value_);
        }
    }
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }

    explicit operator bool() const noexcept { return value_ >= 0; }
    int get() const noexcept { return value_; }

    /// Some file systems report a failed write only here.
    error_code close_checked() {
        const int result = close(std::exchange(value_, -1));
        return result == 0 ? error_code{} : last_error();
    }

private:
    int value_;
};

/// Does not wait for the other end of what is a pipe and no file.
descriptor open_file(const fs::path& file, int flags) {
    constexpr int always = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    return descriptor(::open(file.c_str(), flags | always, private_file));
}

struct regular_file {
    descriptor file;
    std::uint64_t bytes = 0;
};

/// To be read; whatever else has that name is refused.
io_result<regular_file> open_regular(const fs::path& file) {
    auto opened = open_file(file, O_RDONLY);
    struct stat about {};
    if (!opened || fstat(opened.get(), &about) != 0) {
        return last_error();
    }
    if (!S_ISREG(about.st_mode)) {
        return make_error(boost::system::errc::invalid_argument);
    }
    return regular_file{std::move(opened), static_cast<std::uint64_t>(about.st_size)};
}

descriptor open_directory(const fs::path& directory) {
    return descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

io_result<ssize_t> read_some(int file, char* to, std::size_t size, off_t offset) {
    for (;;) {
        const auto count = pread(file, to, size, offset);
        if (count >= 0) {
            return count;
        }
        if (errno != EINTR) {
            return last_error();
        }
    }
}

error_code write_all(int file, std::string_view content) {
    while (!content.empty()) {
        const auto count = ::write(file, content.data(), content.size());
        if (count < 0 && errno != EINTR) {
            return last_error();
        }
        if (count > 0) {
            content.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    return {};
}

error_code append_rest(int from, off_t offset, int to, const read_watch& watch) {
    std::vector<char> block(block_bytes);
    for (;;) {
        if (watch && !watch(static_cast<std::uint64_t>(offset))) {
            return make_error(boost::system::errc::operation_canceled);
        }
        const auto count = read_some(from, block.data(), block.size(), offset);
        if (!count) {
            return count.error();
        }
        if (*count == 0) {
            return {};
        }
        const std::string_view read(block.data(), static_cast<std::size_t>(*count));
        if (const auto failed = write_all(to, read)) {
            return failed;
        }
        offset += *count;
    }
}

class flock_lock final : public file_lock {
public:
    explicit flock_lock(descriptor file) : file_(std::move(file)) {}

private:
    descriptor file_;
};

class real_disk final : public disk {
public:
    error_code create_private_directory(const fs::path& directory) override {
        const auto parent = directory.parent_path();
        struct stat about {};
        if (!parent.empty() && stat(parent.c_str(), &about) != 0) {
            if (auto ec = create_private_directory(parent); ec) {
                return ec;
            }
        }
        if (mkdir(directory.c_str(), private_directory) == 0) {
            return {};
        }
        if (errno != EEXIST) {
            return last_error();
        }
        if (lstat(directory.c_str(), &about) != 0) {
            return last_error();
        }
        if (!S_ISDIR(about.st_mode)) {
            return make_error(boost::system::errc::not_a_directory);
        }
        if (about.st_uid != geteuid()) {
            return make_error(boost::system::errc::operation_not_permitted);
        }
        if ((about.st_mode & 0077) != 0 && chmod(directory.c_str(), private_directory) != 0) {
            return last_error();
        }
        return {};
    }

    error_code create_private_file(const fs::path& file) override {
        const auto created = open_file(file, O_WRONLY | O_CREAT | O_EXCL);
        return created ? error_code{} : last_error();
    }

    error_code check_writable(const fs::path& directory) override {
        // A name that the store clears away, should we be killed between the two calls.
        const auto name = directory / fmt::format("staging-{}-0.kv", getpid());
        unlink(name.c_str());
        const auto file = open_file(name, O_WRONLY | O_CREAT | O_EXCL);
        if (!file) {
            return last_error();
        }
        unlink(name.c_str());
        return {};
    }

    io_result<std::vector<file_entry>> list(const fs::path& directory) override {
        const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()), closedir);
        if (!entries) {
            return last_error();
        }
        std::vector<file_entry> found;
        for (;;) {
            errno = 0;
            const auto* entry = readdir(entries.get());
            if (entry == nullptr) {
                break;
            }
            const std::string name = entry->d_name;
            if (name == "." || name == "..") {
                continue;
            }
            struct stat about {};
            if (fstatat(dirfd(entries.get()), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
                found.push_back(
                    {name, static_cast<std::uint64_t>(about.st_size), S_ISREG(about.st_mode),
                     S_ISDIR(about.st_mode)});
            }
        }
        if (errno != 0) {
            return last_error();
        }
        return found;
    }

    io_result<std::uint64_t> size(const fs::path& file) override {
        struct stat about {};
        if (lstat(file.c_str(), &about) != 0) {
            return last_error();
        }
        if (!S_ISREG(about.st_mode)) {
            return make_error(boost::system::errc::invalid_argument);
        }
        return static_cast<std::uint64_t>(about.st_size);
    }

    io_result<std::string> version(const fs::path& file) override {
        struct stat about {};
        if (stat(file.c_str(), &about) != 0) {
            return last_error();
        }
        const auto changed = change_time(about);
        return fmt::format(
            "{}:{} {} bytes {}.{:09}", about.st_dev, about.st_ino, about.st_size, changed.tv_sec,
            changed.tv_nsec);
    }

    io_result<std::uint64_t> free_space(const fs::path& directory) override {
        struct statvfs about {};
        if (statvfs(directory.c_str(), &about) != 0) {
            return last_error();
        }
        return static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
    }

    io_result<std::string>
    read(const fs::path& file, std::uint64_t offset, std::size_t max_bytes) override {
        const auto source = open_regular(file);
        if (!source) {
            return source.error();
        }
        // The caller's limit may be far beyond the file: never allocate for what is not there.
        const auto available = offset < source->bytes ? source->bytes - offset : 0;
        std::string content(
            static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes, available)), '\0');
        std::size_t have = 0;
        while (have < content.size()) {
            const auto count = read_some(
                source->file.get(), content.data() + have, content.size() - have,
                static_cast<off_t>(offset + have));
            if (!count) {
                return count.error();
            }
            if (*count == 0) {
                break;
            }
            have += static_cast<std::size_t>(*count);
        }
        content.resize(have);
        return content;
    }

    error_code replace(const fs::path& file, std::string_view content, when_synced when) override {
        const fs::path temporary = file.native() + ".tmp";
        unlink(temporary.c_str());
        auto target = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
        if (!target) {
            return last_error();
        }
        auto ec = write_all(target.get(), content);
        if (!ec && when == when_synced::now && fsync(target.get()) != 0) {
            ec = last_error();
        }
        if (const auto closed = target.close_checked(); !ec) {
            ec = closed;
        }
        if (!ec) {
            ec = rename(temporary, file);
        }
        if (ec) {
            unlink(temporary.c_str());
        }
        return ec;
    }

    error_code copy(
        const fs::path& from,
        std::uint64_t offset,
        const fs::path& to,
        std::string_view start,
        const read_watch& watch) override {
        const auto source = open_regular(from);
        if (!source) {
            return source.error();
        }
        auto target = open_file(to, O_WRONLY | O_CREAT | O_EXCL);
        if (!target) {
            return last_error();
        }
        auto ec = write_all(target.get(), start);
        if (!ec) {
            ec = append_rest(source->file.get(), static_cast<off_t>(offset), target.get(), watch);
        }
        if (const auto closed = target.close_checked(); !ec) {
            ec = closed;
        }
        if (ec) {
            unlink(to.c_str());
        }
        return ec;
    }

    error_code rename(const fs::path& from, const fs::path& to) override {
        return ::rename(from.c_str(), to.c_str()) == 0 ? error_code{} : last_error();
    }

    error_code make_private(const fs::path& file) override {
        const auto target = open_file(file, O_RDONLY);
        if (!target || fchmod(target.get(), private_file) != 0) {
            return last_error();
        }
        return {};
    }

    error_code remove(const fs::path& file) override {
        return unlink(file.c_str()) == 0 || errno == ENOENT ? error_code{} : last_error();
    }

    error_code sync_file(const fs::path& file) override { return sync(open_file(file, O_RDONLY)); }

    error_code sync_directory(const fs::path& directory) override {
        return sync(open_directory(directory));
    }

    io_result<std::string> checksum(const fs::path& file, const read_watch& watch) override {
        const auto source = open_file(file, O_RDONLY);
        if (!source) {
            return last_error();
        }
        hasher128 hash;
        std::vector<char> block(block_bytes);
        for (off_t offset = 0;;) {
            if (watch && !watch(static_cast<std::uint64_t>(offset))) {
                return make_error(boost::system::errc::operation_canceled);
            }
            const auto count = read_some(source.get(), block.data(), block.size(), offset);
            if (!count) {
                return count.error();
            }
            if (*count == 0) {
                return hash.hex();
            }
            hash.update(std::string_view(block.data(), static_cast<std::size_t>(*count)));
            offset += *count;
        }
    }

    io_result<std::unique_ptr<file_lock>> try_lock(const fs::path& file) override {
        auto target = open_file(file, O_RDWR | O_CREAT);
        if (!target && errno == EISDIR) {
            target = open_directory(file);
        }
        if (!target) {
            return last_error();
        }
        if (flock(target.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) {
                return std::unique_ptr<file_lock>{};
            }
            return last_error();
        }
        return std::unique_ptr<file_lock>(std::make_unique<flock_lock>(std::move(target)));
    }

private:
    static error_code sync(const descriptor& target) {
        return target && fsync(target.get()) == 0 ? error_code{} : last_error();
    }
};

} // namespace

std::unique_ptr<disk> make_real_disk() {
    return std::make_unique<real_disk>();
}

const std::string& boot_id() {
    static const std::string id = [] {
        std::string text;
#if defined(HIBERNATE_LINUX)
        std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
#endif
        if (text.empty()) {
            constexpr int words = 4; // as long as a boot's own
            std::random_device random;
            for (int word = 0; word < words; ++word) {
                text += fmt::format("{:08x}", random());
            }
        }
        return text;
    }();
    return id;
}

} // namespace hibernate

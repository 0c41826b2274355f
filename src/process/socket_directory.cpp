#include "llama_hibernate/process/socket_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace hibernate::process {

namespace fs = std::filesystem;
using boost::system::error_code;

namespace {

constexpr std::string_view prefix = "llama-hibernate-";
constexpr std::string_view unique = "XXXXXX";
constexpr std::string_view socket_name = "child.sock";

error_code last_error() {
    return {errno, boost::system::system_category()};
}

bool is_same_directory(int descriptor, const char* path) {
    struct stat open {};
    struct stat named {};
    return ::fstat(descriptor, &open) == 0 && ::lstat(path, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// A descriptor that holds the directory's lock; -1 if it is no directory of ours, or in use.
int lock_directory(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return -1;
    }
    struct stat about {};
    if (::fstat(descriptor, &about) != 0 || about.st_uid != ::geteuid() ||
        ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 ||
        !is_same_directory(descriptor, path.c_str())) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

/// Nothing but the socket is ever in it; a directory that holds anything else stays.
void remove_directory(int locked, const std::string& path) {
    ::unlinkat(locked, std::string(socket_name).c_str(), 0);
    ::rmdir(path.c_str());
}

void remove_stale(const fs::path& place) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end;
         entry.increment(error)) {
        const auto name = entry->path().filename().string();
        if (!name.starts_with(prefix) || name.size() != prefix.size() + unique.size()) {
            continue;
        }
        const auto path = entry->path().string();
        const int descriptor = lock_directory(path);
        if (descriptor >= 0) {
            remove_directory(descriptor, path);
            ::close(descriptor);
        }
    }
}

bool is_usable(const fs::path& place) {
    const auto& text = place.native();
    const auto length = text.size() + 1 + prefix.size() + unique.size() + 1 + socket_name.size();
    return place.is_absolute() && text.find(',') == std::string::npos &&
           length < sizeof(sockaddr_un::sun_path);
}

} // namespace

boost::system::result<socket_directory>
socket_directory::make_in(const std::vector<fs::path>& places) {
    constexpr int most_tries = 10;
    error_code error = make_error_code(boost::system::errc::filename_too_long);
    for (const auto& place : places) {
        if (!is_usable(place)) {
            continue;
        }
        remove_stale(place);
        // Another instance may take a directory for stale before we have locked it.
        for (int tries = 0; tries != most_tries; ++tries) {
            auto path = (place / (std::string(prefix) + std::string(unique))).string();
            if (::mkdtemp(path.data()) == nullptr) {
                error = last_error();
                break;
            }
            const int descriptor = lock_directory(path);
            if (descriptor >= 0) {
                return socket_directory(std::move(path), descriptor);
            }
            error = last_error();
            ::rmdir(path.c_str());
        }
    }
    return error;
}

socket_directory::socket_directory(std::string path, int descriptor)
    : path_(std::move(path)), socket_path_(path_ + "/" + std::string(socket_name)),
      descriptor_(descriptor) {}

socket_directory::socket_directory(socket_directory&& other) noexcept
    : path_(std::move(other.path_)), socket_path_(std::move(other.socket_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

socket_directory::~socket_directory() {
    remove();
}

void socket_directory::clear() noexcept {
    ::unlink(socket_path_.c_str());
}

void socket_directory::remove() noexcept {
    if (descriptor_ >= 0) {
        remove_directory(descriptor_, path_);
        ::close(std::exchange(descriptor_, -1));
    }
}

std::vector<fs::path>
socket_places(const std::string& runtime_directory, const std::string& xdg_runtime_dir) {
    std::vector<fs::path> places;
    for (const auto& given :
         {runtime_directory.substr(0, runtime_directory.find(':')), xdg_runtime_dir}) {
        if (!given.empty()) {
            places.emplace_back(given);
        }
    }
    places.emplace_back("/tmp");
    return places;
}

} // namespace hibernate::process

#pragma once
// A directory of ours alone for one Unix socket: nobody else on the machine can reach what listens
// there. It is 0700, has a short name (a socket's path holds 107 bytes), and goes when we go. After
// a kill -9 it stays, and the next one that is made beside it removes it: whoever uses a directory
// holds a lock on it.

#include <filesystem>
#include <string>
#include <vector>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace hibernate::process {

class socket_directory {
public:
    /// Makes one in the first of these places where that can be done, or says why not in the last.
    /// A place that is relative, so long that the socket's path would be too long, or has a comma
    /// (which separates llama-server's hosts) is passed over. Removes stale ones there.
    static boost::system::result<socket_directory>
    make_in(const std::vector<std::filesystem::path>& places);

    socket_directory(socket_directory&& other) noexcept;
    socket_directory& operator=(socket_directory&&) = delete;
    ~socket_directory(); ///< removes it

    /// Where the socket belongs. Its name ends in ".sock", as llama-server wants it.
    const std::string& socket_path() const noexcept { return socket_path_; }

    /// Removes the socket file that a child left behind; llama-server does not replace it.
    void clear() noexcept;
    void remove() noexcept; ///< for good

private:
    socket_directory(std::string path, int descriptor);

    std::string path_;
    std::string socket_path_;
    int descriptor_ = -1; ///< holds the lock
};

/// Where sockets go, by the environment's own words (any may be empty): systemd's RUNTIME_DIRECTORY
/// (the first of them), the user's XDG_RUNTIME_DIR, and /tmp.
std::vector<std::filesystem::path>
socket_places(const std::string& runtime_directory, const std::string& xdg_runtime_dir);

} // namespace hibernate::process

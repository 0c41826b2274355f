#include "llama_hibernate/base/log.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include "llama_hibernate/base/recent_lines.hpp"
#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::log {

namespace {

/// Writes whole lines to a descriptor without ever waiting for room.
class unblocking_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit unblocking_sink(int descriptor) { use(descriptor); }
    ~unblocking_sink() override { close_own(); }

    void redirect(int descriptor) {
        const std::lock_guard guard(mutex_);
        use(descriptor);
    }

private:
    // O_NONBLOCK belongs to the open file, which our parent and the child share. A pipe or a
    // terminal can be opened anew through /proc, and then the flag is ours alone. Other kinds do
    // not block for long, so those are written as they are.
    void use(int descriptor) {
        close_own();
        descriptor_ = descriptor;
        struct stat about {};
        if (fstat(descriptor, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) {
            const auto path = "/proc/self/fd/" + std::to_string(descriptor);
            own_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
            if (own_ >= 0) {
                descriptor_ = own_;
            }
        }
    }

    void close_own() {
        if (own_ >= 0) {
            close(own_);
            own_ = -1;
        }
    }

    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        if (dropped_ != 0) {
            const auto notice =
                fmt::format("({} log lines were dropped: nobody read them)\n", dropped_);
            if (!write_whole(notice.data(), notice.size())) {
                ++dropped_;
                return;
            }
            dropped_ = 0;
        }
        if (!write_whole(line.data(), line.size())) {
            ++dropped_;
        }
    }

    void flush_() override {}

    /// Up to PIPE_BUF bytes go out whole or not at all; no line of ours comes near that size.
    bool write_whole(const char* data, std::size_t size) {
        ssize_t written = 0;
        do {
            written = ::write(descriptor_, data, size);
        } while (written < 0 && errno == EINTR);
        return written >= 0;
    }

    int descriptor_ = STDERR_FILENO;
    int own_ = -1;
    std::size_t dropped_ = 0;
};

struct logger {
    std::shared_ptr<unblocking_sink> sink = std::make_shared<unblocking_sink>(STDERR_FILENO);
    spdlog::logger out{"", sink};

    logger() { out.set_pattern("%Y-%m-%d %H:%M:%S.%e llama-hibernate %l: %v"); }
};

logger& the_logger() {
    // Never destroyed: lines may come until the very end of the process.
    static auto& instance = *new logger;
    return instance;
}

recent_lines& the_recent_lines() {
    static auto& instance = *new recent_lines; // as the logger is
    return instance;
}

void keep_recent(level at, std::string_view line) {
    if (at != level::debug) {
        const auto now = std::chrono::system_clock::now();
        the_recent_lines().note(
            {std::chrono::time_point_cast<std::chrono::milliseconds>(now), at, std::string(line)});
    }
}

spdlog::level::level_enum translate(level value) {
    switch (value) {
    case level::debug:
        return spdlog::level::debug;
    case level::info:
        return spdlog::level::info;
    case level::warning:
        return spdlog::level::warn;
    case level::error:
        return spdlog::level::err;
    case level::off:
        break;
    }
    return spdlog::level::off;
}

} // namespace

void set_level(level lowest) {
    the_logger().out.set_level(translate(lowest));
}

void set_descriptor(int descriptor) {
    the_logger().sink->redirect(descriptor);
}

const recent_lines& recent() {
    return the_recent_lines();
}

void write(level at, std::string_view line) {
    // It may hold names that others chose.
    const auto harmless = printable_text(line);
    keep_recent(at, harmless);
    the_logger().out.log(translate(at), harmless);
}

} // namespace hibernate::log

#include "llama_hibernate/base/log.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "llama_hibernate/base/platform.hpp"
#include "llama_hibernate/base/recent_lines.hpp"
#include "llama_hibernate/base/utf8.hpp"

namespace hibernate::log {

namespace {

struct layout {
    log::format format = format::text;
    bool journal = false; ///< systemd's journal reads it
};

std::atomic<layout> present_layout{layout{}};

std::string render(std::string_view sentence, std::initializer_list<field> fields) {
    return present_layout.load().format == format::json ? render_json(sentence, fields)
                                                        : render_text(sentence, fields);
}

/// For spdlog's pattern: the level as syslog's number.
class priority_flag final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& to)
        override {
        const char digit = message.level >= spdlog::level::err    ? '3'
                           : message.level == spdlog::level::warn ? '4'
                           : message.level == spdlog::level::info ? '6'
                                                                  : '7';
        to.push_back(digit);
    }
    std::unique_ptr<custom_flag_formatter> clone() const override {
        return std::make_unique<priority_flag>();
    }
};

std::unique_ptr<spdlog::formatter> make_formatter(const layout& how) {
    const bool json = how.format == format::json;
    const std::string prefix = how.journal ? "<%*>" : "";
    const auto* line = json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})"
                       : how.journal ? "llama-hibernate %l: %v"
                                     : "%Y-%m-%d %H:%M:%S.%e llama-hibernate %l: %v";
    auto formatter = std::make_unique<spdlog::pattern_formatter>(
        json ? spdlog::pattern_time_type::utc : spdlog::pattern_time_type::local,
        spdlog::details::os::default_eol);
    formatter->add_flag<priority_flag>('*').set_pattern(prefix + line);
    return formatter;
}

bool is_journal(std::string_view journal_stream) {
    struct stat about {};
    return !journal_stream.empty() && fstat(STDERR_FILENO, &about) == 0 &&
           journal_stream == fmt::format("{}:{}", about.st_dev, about.st_ino);
}

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
    // O_NONBLOCK belongs to the open file, which our parent and the child share. On Linux, a pipe
    // or a terminal can be opened anew, and then the flag is ours alone; elsewhere we ask whether
    // there is room. Other kinds do not block for long, so those are written as they are.
    void use(int descriptor) {
        close_own();
        descriptor_ = descriptor;
        struct stat about {};
        may_block_ =
            fstat(descriptor, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode));
#if defined(HIBERNATE_LINUX)
        if (may_block_) {
            const auto path = "/proc/self/fd/" + std::to_string(descriptor);
            own_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
            if (own_ >= 0) {
                descriptor_ = own_;
                may_block_ = false;
            }
        }
#endif
    }

    void close_own() {
        if (own_ >= 0) {
            close(own_);
            own_ = -1;
        }
    }

    void sink_it_(const spdlog::details::log_msg& message) override {
        if (dropped_ != 0) {
            const auto told = render(
                fmt::format("{} log lines were dropped: nobody read them", dropped_),
                {{"dropped", dropped_}});
            const spdlog::details::log_msg notice("", spdlog::level::warn, told);
            if (!write_whole(notice)) {
                ++dropped_;
                return;
            }
            dropped_ = 0;
        }
        if (!write_whole(message)) {
            ++dropped_;
        }
    }

    void flush_() override {}

    /// Up to PIPE_BUF bytes go out whole or not at all; no line of ours comes near that size.
    bool write_whole(const spdlog::details::log_msg& message) {
        pollfd room{descriptor_, POLLOUT, 0};
        if (may_block_ && poll(&room, 1, 0) == 0) {
            return false;
        }
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        ssize_t written = 0;
        do {
            written = ::write(descriptor_, line.data(), line.size());
        } while (written < 0 && errno == EINTR);
        return written >= 0;
    }

    int descriptor_ = STDERR_FILENO;
    int own_ = -1;
    bool may_block_ = false; ///< and is to be asked before each line
    std::size_t dropped_ = 0;
};

struct logger {
    std::shared_ptr<unblocking_sink> sink = std::make_shared<unblocking_sink>(STDERR_FILENO);
    spdlog::logger out{"", sink};

    logger() { out.set_formatter(make_formatter(present_layout)); }
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

void set_format(format how, std::string_view journal_stream) {
    const layout wanted{how, is_journal(journal_stream)};
    present_layout = wanted;
    the_logger().out.set_formatter(make_formatter(wanted));
}

bool is_for_programs() {
    const auto present = present_layout.load();
    return present.journal || present.format == format::json;
}

void set_descriptor(int descriptor) {
    the_logger().sink->redirect(descriptor);
}

const recent_lines& recent() {
    return the_recent_lines();
}

void write(level at, std::string_view sentence, std::initializer_list<field> fields) {
    keep_recent(at, printable_text(sentence)); // it may hold names that others chose
    auto& out = the_logger().out;
    if (out.should_log(translate(at))) {
        out.log(translate(at), render(sentence, fields));
    }
}

} // namespace hibernate::log

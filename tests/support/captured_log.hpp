#pragma once
// Our own log lines while a test runs, instead of on stderr.

#include <cstdio>
#include <string>
#include <unistd.h>

#include "llama_hibernate/base/log.hpp"

namespace hibernate::test {

class captured_log {
public:
    captured_log() : file_(std::tmpfile()) { log::set_descriptor(fileno(file_)); }
    ~captured_log() {
        log::set_descriptor(STDERR_FILENO);
        std::fclose(file_);
    }
    captured_log(const captured_log&) = delete;
    captured_log& operator=(const captured_log&) = delete;

    std::string text() const {
        std::string all;
        char block[4096];
        while (true) {
            const auto count =
                pread(fileno(file_), block, sizeof block, static_cast<off_t>(all.size()));
            if (count <= 0) {
                return all;
            }
            all.append(block, static_cast<std::size_t>(count));
        }
    }

    /// How many lines hold the text.
    int lines_with(const std::string& part) const {
        const auto all = text();
        int count = 0;
        for (std::size_t start = 0; start < all.size();) {
            const auto end = all.find('\n', start);
            count += all.substr(start, end - start).find(part) != std::string::npos ? 1 : 0;
            start = end == std::string::npos ? all.size() : end + 1;
        }
        return count;
    }

private:
    std::FILE* file_;
};

} // namespace hibernate::test

// llama-hibernate on a disk that kills it: for tests of what a kill -9 at each instant leaves.
//
// Each call that changes something on the disk is a step; replacing a file is three of them more:
// the new file is there and empty, half written, whole.
//   FAULT_KILL_AT   the number of the step, from 1 on, before which the process gets SIGKILL
//   FAULT_STEPS     a file that gets a line for each step: what is about to happen, and to which
//                   file

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "llama_hibernate/app/daemon.hpp"
#include "llama_hibernate/app/find_server.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/llama/server_args.hpp"

extern char** environ;

namespace {

using namespace hibernate;
using path = std::filesystem::path;

class faulty_disk final : public disk {
public:
    faulty_disk(std::unique_ptr<disk> real, unsigned kill_at, const std::string& steps_file)
        : real_(std::move(real)), kill_at_(kill_at) {
        if (!steps_file.empty()) {
            steps_file_.open(steps_file, std::ios::app);
        }
    }

    error_code create_private_directory(const path& directory) override {
        step("create directory", directory);
        return real_->create_private_directory(directory);
    }
    error_code create_private_file(const path& file) override {
        step("create", file);
        return real_->create_private_file(file);
    }
    error_code check_writable(const path& directory) override {
        step("try to write", directory);
        return real_->check_writable(directory);
    }
    error_code replace(const path& file, std::string_view content, when_synced when) override {
        step("replace", file);
        const path temporary = file.native() + ".tmp";
        write(temporary, "");
        step("replace, empty", file);
        write(temporary, content.substr(0, content.size() / 2));
        step("replace, half", file);
        write(temporary, content);
        step("replace, whole", file);
        return real_->replace(file, content, when);
    }
    error_code copy(
        const path& from,
        std::uint64_t offset,
        const path& to,
        std::string_view start,
        const read_watch& watch) override {
        step("copy", to);
        write(to, start);
        step("copy, half", to);
        std::filesystem::remove(to);
        return real_->copy(from, offset, to, start, watch);
    }
    error_code rename(const path& from, const path& to) override {
        step("rename", to);
        return real_->rename(from, to);
    }
    error_code make_private(const path& file) override {
        step("make private", file);
        return real_->make_private(file);
    }
    error_code remove(const path& file) override {
        step("remove", file);
        return real_->remove(file);
    }
    error_code sync_file(const path& file) override {
        step("sync", file);
        return real_->sync_file(file);
    }
    error_code sync_directory(const path& directory) override {
        step("sync directory", directory);
        return real_->sync_directory(directory);
    }
    io_result<std::unique_ptr<file_lock>> try_lock(const path& file) override {
        step("lock", file);
        return real_->try_lock(file);
    }

    io_result<std::vector<file_entry>> list(const path& directory) override {
        return real_->list(directory);
    }
    io_result<std::uint64_t> size(const path& file) override { return real_->size(file); }
    io_result<std::string> version(const path& file) override { return real_->version(file); }
    io_result<std::uint64_t> free_space(const path& directory) override {
        return real_->free_space(directory);
    }
    io_result<std::string>
    read(const path& file, std::uint64_t offset, std::size_t max_bytes) override {
        return real_->read(file, offset, max_bytes);
    }
    io_result<std::string> checksum(const path& file, const read_watch& watch) override {
        return real_->checksum(file, watch);
    }

private:
    void step(const char* what, const path& file) {
        ++steps_;
        steps_file_ << what << ' ' << file.filename().string() << std::endl;
        if (steps_ == kill_at_) {
            kill(getpid(), SIGKILL);
        }
    }

    static void write(const path& file, std::string_view content) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    }

    std::unique_ptr<disk> real_;
    unsigned kill_at_;
    unsigned steps_ = 0;
    std::ofstream steps_file_;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

int run(const std::vector<std::string>& arguments) {
    llama::environment_map environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    const auto options = app::read_options(arguments, environment);
    log::set_level(options.log_level);
    const auto server_args = llama::read_server_args(options.server_arguments, environment);
    const auto program = app::find_server(options.server, {}, environment);
    const auto kill_at = variable("FAULT_KILL_AT");
    auto disk = std::make_unique<faulty_disk>(
        make_real_disk(), kill_at.empty() ? 0U : static_cast<unsigned>(std::stoul(kill_at)),
        variable("FAULT_STEPS"));
    return app::daemon(options, server_args, environment, program, std::move(disk)).run();
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "faulty_hibernate: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}

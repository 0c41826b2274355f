// How fast a snapshot is read and hashed, against dd on the same file in the same run: from the
// medium, as the read-ahead does it (idle I/O priority), and from the page cache, as a restore
// does.
//
//     bench_checksum [MIB] [ROUNDS] [DIRECTORY]     1024, 5 and the temporary directory unless
//     given

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/base/io_priority.hpp"
#include "temporary_directory.hpp"

using namespace hibernate;

namespace {

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

/// Of bytes that no file system makes smaller.
void write_random(const std::filesystem::path& file, std::size_t mebibytes) {
    std::ofstream out(file, std::ios::binary);
    std::mt19937_64 random;
    std::vector<std::uint64_t> block(mebibyte / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < mebibytes; ++i) {
        std::generate(block.begin(), block.end(), std::ref(random));
        out.write(reinterpret_cast<const char*>(block.data()), mebibyte);
    }
}

void leave_cache(const std::filesystem::path& file) {
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    fsync(opened);
    posix_fadvise(opened, 0, 0, POSIX_FADV_DONTNEED);
    close(opened);
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t mebibytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
    const unsigned long rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5;
    const test::temporary_directory scratch;
    const auto file = (argc > 3 ? std::filesystem::path(argv[3]) : scratch.path()) / "bench.kv";
    const auto disk = make_real_disk();
    write_random(file, mebibytes);

    const auto dd = fmt::format("dd if='{}' of=/dev/null bs=1M status=none", file.string());
    const auto run_dd = [&dd] { return std::system(dd.c_str()); };
    const auto hash = [&] { return disk->checksum(file); };
    const auto hash_idly = [&] {
        const idle_io_priority idle;
        return hash();
    };
    for (const bool cold : {true, false}) {
        std::vector<double> ours;
        std::vector<double> peer;
        std::vector<double> ratios;
        for (unsigned long i = 0; i < rounds; ++i) {
            if (cold) {
                leave_cache(file);
            }
            peer.push_back(seconds(run_dd));
            if (cold) {
                leave_cache(file);
            }
            ours.push_back(cold ? seconds(hash_idly) : seconds(hash));
            ratios.push_back(ours.back() / peer.back());
        }
        fmt::print(
            "{} MiB from {}: dd {:.0f} MiB/s, read and hashed {:.0f} MiB/s, {:.2f} times the "
            "time\n",
            mebibytes, cold ? "the disk" : "memory", static_cast<double>(mebibytes) / median(peer),
            static_cast<double>(mebibytes) / median(ours), median(ratios));
    }
    std::filesystem::remove(file);
    return 0;
}

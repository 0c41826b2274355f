// What a store with many snapshots costs at a start and at a save: time by the clock and of the
// processor, bytes that were read, and memory that stays.
//
//     bench_store_scan [SNAPSHOTS] [DIRECTORIES] [LONG] [TOKENS]
//
// 10000 snapshots of 300 tokens in 10 directories unless given, and then one more directory with
// 1000 LONG ones of 100000 TOKENS each, which take 400 MB of the temporary directory.
//
// The state files have small bodies, since nobody reads those here; the manifests are as large as
// real ones. Files that were just written are in the page cache.

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include "llama_hibernate/base/hash.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/store/eviction.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/lineage.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "state_bytes.hpp"
#include "temporary_directory.hpp"

using namespace hibernate;
using test::temporary_directory;
using test::write_file;

namespace {

/// Bytes of this process that are in memory.
std::size_t resident() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Bytes that this process has read, wherever they came from.
std::uint64_t bytes_read() {
    std::string name;
    std::uint64_t bytes = 0;
    std::ifstream("/proc/self/io") >> name >> bytes;
    return bytes;
}

store::manifest make_manifest(unsigned number, std::uint64_t bytes, std::uint64_t tokens) {
    store::manifest made;
    made.id = hash64_hex(fmt::format("snapshot {}", number));
    made.signature.parts = {
        {"build", "b11669-Debian"},
        {"cache-type-k", "q8_0"},
        {"cache-type-v", "q8_0"},
        {"flash-attn", "on"},
        {"model", "0123456789abcdef0123456789abcdef"},
        {"mmproj", "fedcba9876543210fedcba9876543210"},
        {"rope-freq-base", "1000000"},
        {"streams", "4"}};
    made.model_name = "Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf";
    made.model_path = "/srv/models/qwen/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf";
    made.tokens = tokens;
    made.bytes = bytes;
    made.state_version = 4;
    made.created = store::wall_time{std::chrono::seconds{1'790'000'000 + number}};
    made.last_used = made.created;
    made.reason = "stop";
    made.checksum = "00112233445566778899aabbccddeeff";
    made.synced = true;
    made.boot_id = boot_id();
    made.supersedes = {hash64_hex(fmt::format("older {}", number))};
    return made;
}

void fill(const std::filesystem::path& root, unsigned snapshots, unsigned directories) {
    const auto tokens = test::token_run(1, 300);
    const auto content = test::state_file(tokens);
    for (unsigned i = 0; i < directories; ++i) {
        std::filesystem::create_directories(root / fmt::format("model-{:08x}", i));
        write_file(root / fmt::format("model-{:08x}", i) / "lock", "");
    }
    for (unsigned i = 0; i < snapshots; ++i) {
        const auto directory = root / fmt::format("model-{:08x}", i % directories);
        const auto manifest = make_manifest(i, content.size(), tokens.size());
        write_file(directory / (manifest.id + ".kv"), content);
        write_file(directory / (manifest.id + ".json"), store::write_manifest(manifest));
    }
}

constexpr const char* long_directory = "model-00000000";

/// Conversations of so many tokens, each with a first token of its own.
void fill_with_long(const std::filesystem::path& root, unsigned snapshots, unsigned tokens) {
    const auto directory = root / long_directory;
    std::filesystem::create_directories(directory);
    for (unsigned i = 0; i < snapshots; ++i) {
        const auto conversation = test::token_run(static_cast<llama::token>(i + 1), tokens);
        const auto content = test::state_file(conversation);
        auto manifest = make_manifest(i, content.size(), tokens);
        const llama::state_file_head head{4, conversation, {}};
        manifest.tokens_hash = store::token_chain(head).hash();
        write_file(directory / (manifest.id + ".kv"), content);
        write_file(directory / (manifest.id + ".json"), store::write_manifest(manifest));
    }
}

/// One more turn of the last of them.
store::staged_save
stage_longer(store::model_directory& directory, unsigned snapshots, unsigned tokens) {
    const auto content =
        test::state_file(test::token_run(static_cast<llama::token>(snapshots), tokens + 500));
    store::staged_save save;
    save.staging_name = directory.new_staging_name();
    save.tokens = tokens + 500;
    save.bytes = content.size();
    save.reason = "idle";
    save.signature = make_manifest(0, 1, 1).signature;
    write_file(directory.path() / save.staging_name, content);
    return save;
}

template <typename Work>
auto measured(const char* what, Work work) {
    const auto before = resident();
    const auto read_before = bytes_read();
    const auto processor_before = std::clock();
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const auto processor = static_cast<double>(std::clock() - processor_before);
    const auto after = resident();
    constexpr double mebibyte = 1024 * 1024;
    fmt::print(
        "{:40}{:9.1f} ms {:9.1f} ms processor {:8.1f} MiB read {:8.1f} MiB stay\n", what,
        time.count(), processor * 1000 / CLOCKS_PER_SEC,
        static_cast<double>(bytes_read() - read_before) / mebibyte,
        static_cast<double>(after > before ? after - before : 0) / mebibyte);
    return result;
}

bool scan_long(disk& disk, unsigned snapshots, unsigned tokens) {
    const temporary_directory scratch;
    fill_with_long(scratch.path(), snapshots, tokens);
    fmt::print("{} snapshots of {} tokens\n", snapshots, tokens);
    const auto opened = measured("model_directory::open", [&] {
        return store::model_directory::open(disk, scratch.path(), long_directory);
    });
    if (!opened) {
        fmt::print("{}\n", opened.error().message());
        return false;
    }
    measured("model_directory::snapshots", [&] { return (*opened)->snapshots(); });
    const auto save = stage_longer(**opened, snapshots, tokens);
    const auto made = measured(
        "model_directory::publish", [&] { return (*opened)->publish(save, store::wall_now()); });
    // The one that it continues, and no other.
    if (made.superseded_ids.size() != 1) {
        fmt::print("superseded: {} {}\n", made.superseded_ids.size(), made.problem);
        return false;
    }
    return true;
}

} // namespace

int main(int argc, char** argv) {
    const auto argument = [&](int index, unsigned otherwise) {
        return argc > index ? static_cast<unsigned>(std::atoi(argv[index])) : otherwise;
    };
    const unsigned snapshots = argument(1, 10'000);
    const unsigned directories = argument(2, 10);
    log::set_level(log::level::error);
    const temporary_directory scratch;
    fill(scratch.path(), snapshots, directories);
    const auto disk = make_real_disk();

    fmt::print("{} snapshots of {} models\n", snapshots, directories);
    measured("measure", [&] { return store::measure(*disk, scratch.path()); });
    const auto stored =
        measured("take_inventory", [&] { return store::take_inventory(*disk, scratch.path()); });
    measured("plan_eviction of half of it", [&] {
        store::eviction_question question;
        question.bound.max_disk = stored.bytes / 2;
        return store::plan_eviction(stored, question);
    });
    const auto opened = measured("model_directory::open of one model", [&] {
        return store::model_directory::open(*disk, scratch.path(), "model-00000000");
    });
    if (!opened) {
        fmt::print("{}\n", opened.error().message());
        return 1;
    }
    measured("model_directory::snapshots of it", [&] { return (*opened)->snapshots(); });
    return scan_long(*disk, argument(3, 1'000), argument(4, 100'000)) ? 0 : 1;
}

#pragma once
// A model directory on a virtual disk, and what tests do with it.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/snapshot_changes.hpp"
#include "llama_hibernate/store/verification.hpp"
#include "state_bytes.hpp"
#include "virtual_disk.hpp"

namespace hibernate::test {

inline constexpr const char* store_root = "/cache";
inline const std::filesystem::path store_path = "/cache/tiny-0a1b2c3d";

inline store::wall_time at(int seconds) {
    return store::wall_time{std::chrono::seconds{seconds}};
}

inline store::signature some_signature(std::string build = "b1") {
    return {{{"build", std::move(build)}, {"streams", "1"}}};
}

inline std::unique_ptr<store::model_directory> open_store(virtual_disk& disk) {
    auto opened = store::model_directory::open(disk, store_root, store_path.filename().string());
    REQUIRE(opened);
    return std::move(*opened);
}

/// Has the child write the tokens to a staging file.
inline store::staged_save stage(
    virtual_disk& disk,
    store::model_directory& directory,
    const std::vector<llama::token>& tokens,
    std::string build = "b1") {
    const auto content = state_file(tokens);
    store::staged_save save;
    save.staging_name = directory.new_staging_name();
    save.slot = 1;
    save.tokens = tokens.size();
    save.bytes = content.size();
    save.reason = "idle";
    save.signature = some_signature(std::move(build));
    save.model_name = "tiny";
    save.model_path = "/models/tiny.gguf";
    disk.put(store_path / save.staging_name, content);
    return save;
}

/// Publishes the tokens and requires that it worked.
inline store::publication publish(
    virtual_disk& disk,
    store::model_directory& directory,
    const std::vector<llama::token>& tokens,
    std::string build = "b1") {
    const auto save = stage(disk, directory, tokens, std::move(build));
    auto published = directory.publish(save, at(1000));
    CHECK(published.problem.empty());
    REQUIRE(published.published);
    return published;
}

inline std::vector<std::string> ids_of(const std::vector<store::snapshot>& snapshots) {
    std::vector<std::string> ids;
    ids.reserve(snapshots.size());
    for (const auto& each : snapshots) {
        ids.push_back(each.manifest.id);
    }
    return ids;
}

inline bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// The snapshots of which there is any file.
inline std::vector<std::string> ids_on_disk(const virtual_disk& disk) {
    std::vector<std::string> ids;
    for (const auto& name : disk.names(store_path)) {
        if (const auto id = name.substr(0, name.find('.')); name != "lock" && !contains(ids, id)) {
            ids.push_back(id);
        }
    }
    return ids;
}

inline error_code erase(virtual_disk& disk, const std::string& id) {
    return store::erase_snapshot(disk, store_path, id);
}

/// As far as its manifest, size, head and checksum tell.
inline bool is_sound(virtual_disk& disk, const std::string& id) {
    return store::verify_snapshot(disk, store_path, id).problem.empty();
}

/// Only the lock and the two files of each snapshot are there.
inline bool holds_nothing_but(const virtual_disk& disk, const std::vector<std::string>& ids) {
    std::vector<std::string> expected{"lock"};
    for (const auto& id : ids) {
        expected.push_back(id + ".kv");
        expected.push_back(id + ".json");
    }
    std::sort(expected.begin(), expected.end());
    return disk.names(store_path) == expected;
}

/// What the medium got by itself of what nobody synced. Whatever it is, the data of a state file is
/// no part of it.
enum class unsynced { names, names_and_manifests, nothing };

/// The next process on the disk finds that the machine was off in between.
inline void cut_power(virtual_disk& disk, unsynced kept) {
    disk.restart();
    if (kept == unsynced::nothing) {
        disk.lose_unsynced_names();
    }
    std::map<std::string, std::string> manifests;
    for (const auto& name : disk.names(store_path)) {
        if (name.ends_with(".json")) {
            manifests[name] = disk.content(store_path / name);
        }
    }
    disk.lose_unsynced_data();
    for (const auto& [name, before] : manifests) {
        const bool by_itself = kept == unsynced::names_and_manifests;
        const auto file = store_path / name;
        auto reading = store::read_manifest(by_itself ? before : disk.content(file));
        if (reading.value) {
            reading.value->boot_id = "the boot before";
            disk.put(file, store::write_manifest(*reading.value));
        }
    }
}

} // namespace hibernate::test

#pragma once
// Snapshots as files on a virtual disk, of any model and age, without a daemon that saved them.

#include <functional>
#include <string>

#include "llama_hibernate/store/manifest.hpp"
#include "store_fixture.hpp"

namespace hibernate::test {

inline const std::string own_directory = store_path.filename().string();
inline const std::string other_directory = "other-11111111";

/// "a" -> "aaaaaaaaaaaaaaaa"
inline std::string id_of(char digit) {
    return std::string(16, digit);
}

/// A file of so many bytes and its manifest, 100 tokens unless changed; last used at a second.
inline void put_snapshot(
    virtual_disk& disk,
    const std::string& directory,
    char digit,
    std::size_t bytes,
    int last_used,
    const std::function<void(store::manifest&)>& change = [](auto&) {}) {
    store::manifest manifest;
    manifest.id = id_of(digit);
    manifest.signature = some_signature();
    manifest.model_name = directory.substr(0, directory.find('-'));
    manifest.tokens = 100;
    manifest.bytes = bytes;
    manifest.state_version = 4;
    manifest.created = at(last_used);
    manifest.last_used = at(last_used);
    manifest.reason = "stop";
    manifest.synced = true;
    change(manifest);
    const auto path = std::filesystem::path(store_root) / directory;
    disk.put(path / "lock", "");
    disk.put(path / (manifest.id + ".kv"), std::string(bytes, 'k'));
    disk.put(path / (manifest.id + ".json"), store::write_manifest(manifest));
}

/// Whether both files of a snapshot are there, or neither; anything else is a failure.
inline bool is_stored(const virtual_disk& disk, const std::string& directory, char digit) {
    const auto path = std::filesystem::path(store_root) / directory;
    const bool state = disk.exists(path / (id_of(digit) + ".kv"));
    CHECK(state == disk.exists(path / (id_of(digit) + ".json")));
    return state;
}

} // namespace hibernate::test

#pragma once
// What a daemon knows of itself at one moment, for whoever watches it: plain facts, made in app and
// rendered here. Never a word of a conversation.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/base/recent_lines.hpp"
#include "llama_hibernate/store/manifest.hpp"
#include "llama_hibernate/store/stop_record.hpp"

namespace hibernate::admin {

using store::wall_time;

struct child_view {
    int pid = 0;
    std::string build;    ///< empty until it was asked
    std::string address;  ///< the kind: "tcp" or "unix"
    std::string endpoint; ///< "127.0.0.1:43210", or the path of its socket

    friend bool operator==(const child_view&, const child_view&) = default;
};

struct model_view {
    std::string name;      ///< as the user named it
    std::string path;      ///< as the child says; empty until it was asked
    std::string directory; ///< of its snapshots; empty: nothing is kept

    friend bool operator==(const model_view&, const model_view&) = default;
};

enum class slot_condition {
    empty,
    busy,     ///< a request runs in it
    restored, ///< what is in it came from its snapshot, and nothing ran since
    saved,    ///< what is in it is on disk
    unsaved,
    too_short, ///< unsaved, and it stays so: fewer tokens than are worth a file
};
const char* to_string(slot_condition what);

struct slot_view {
    int id = 0;
    std::optional<std::uint64_t> tokens; ///< nothing: not known
    slot_condition condition = slot_condition::empty;
    std::string snapshot; ///< the last one that was restored into it or saved from it; or empty

    friend bool operator==(const slot_view&, const slot_view&) = default;
};

struct snapshot_view {
    std::string id;
    std::string state;        ///< store::name_of_state
    std::string problem;      ///< of one that cannot be restored, why; or empty
    std::uint64_t bytes = 0;  ///< of both files
    std::uint64_t tokens = 0; ///< from here on only if its manifest could be read
    wall_time created{};
    wall_time last_used{};
    std::uint64_t uses = 0;
    std::uint64_t reused = 0;
    std::uint64_t missed = 0;
    bool pinned = false;
    std::string reason;        ///< of its save
    std::string boundary_of;   ///< it is the prompt of that one; or empty
    std::string superseded_by; ///< or empty

    friend bool operator==(const snapshot_view&, const snapshot_view&) = default;
};

struct store_view {
    std::string root;
    std::uint64_t bytes = 0; ///< of everything under the root
    std::uint64_t bound = 0;
    std::uint64_t min_free = 0;
    std::optional<std::uint64_t> free; ///< on its disk
    std::size_t snapshots = 0;         ///< of all models
    wall_time seen{};                  ///< when it was looked at
    std::vector<snapshot_view> of_model;

    friend bool operator==(const store_view&, const store_view&) = default;
};

/// Since the daemon was started.
struct reuse_view {
    std::uint64_t restored_tokens = 0;        ///< read into the child from snapshots
    std::uint64_t restored_tokens_reused = 0; ///< of those, that a prompt then found
    std::uint64_t prompt_tokens_reused = 0;   ///< by all prompts, whoever had kept them
    std::uint64_t prompt_tokens_computed = 0;
    double seconds_saved = 0; ///< to compute restored_tokens_reused, at the measured speed

    friend bool operator==(const reuse_view&, const reuse_view&) = default;
};

/// Of the last start of the child, or its last waking.
struct restore_view {
    std::size_t planned = 0;
    std::size_t restored = 0;
    std::uint64_t tokens = 0;
    std::chrono::milliseconds time{0};
    std::size_t skipped = 0;
    std::string skipped_because; ///< one line; or empty

    friend bool operator==(const restore_view&, const restore_view&) = default;
};

struct overview {
    wall_time now{};
    std::string version;
    std::string state; ///< of the life cycle
    /// Why conversations are served, but neither saved nor restored: a sentence; or empty.
    std::string not_saved;
    wall_time state_since{};
    wall_time started{};
    std::optional<child_view> child; ///< none runs
    model_view model;
    std::vector<slot_view> slots;            ///< as last seen; none until they were
    std::optional<store_view> store;         ///< nothing is kept, or it was not looked at yet
    std::optional<std::uint64_t> min_tokens; ///< what a slot must hold to be saved
    reuse_view reuse;
    std::optional<restore_view> restore;
    std::optional<store::stop_record> last_stop; ///< of the daemon before this one
    std::vector<log::recent_line> events;

    friend bool operator==(const overview&, const overview&) = default;
};

/// Whether they differ in more than the time that goes by.
bool is_news(const overview& before, const overview& after);

} // namespace hibernate::admin

#pragma once
// Keeps everything under the root within its bound: at start, before each save, and after it.
//
// Room is made before a save, for the size that its file is expected to have; after the save the
// real size counts. In another model's directory something is removed only while we hold its lock,
// so never under a live daemon. Every removal is one log line. Everything here blocks; it belongs
// on the disk thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/store/eviction.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "llama_hibernate/store/signature.hpp"

namespace hibernate::store {

class room_keeper {
public:
    /// directory is the name of our own model's, whose lock we hold. disk outlives this.
    room_keeper(disk& disk, std::filesystem::path root, std::string directory, disk_bound bound);

    /// What is ours now: the child's signature, and the snapshots that were restored into this
    /// child or saved from it.
    struct present {
        store::signature signature;
        std::set<std::string> in_use;
        /// Of the child's state, told from its model; where no file of its kind was measured yet,
        /// room is made for that, as far as there is any.
        std::optional<std::uint64_t> bytes_per_token;
    };

    /// Told of each removal, with the reason as victim::kind has it, where the removal is done.
    void on_removal(std::function<void(const std::string& kind)> observer) {
        on_removal_ = std::move(observer);
    }

    /// Brings the store below max_disk, and says what foreign files count towards it. If it takes
    /// that, what is in use goes as well: the bound holds over everything.
    void tidy(const present& now);

    struct answer {
        bool enough = false;
        std::string problem; ///< if not: a clause with the numbers
        /// Bytes that the file is expected to have; nothing: no file of its kind was ever measured.
        std::optional<std::uint64_t> estimate;
    };

    /// Makes room for the state of so many tokens (none: not known). If there cannot be enough,
    /// nothing was removed and the save is not to be made.
    answer before_save(const present& now, std::optional<std::uint64_t> tokens);

    /// Makes the room that the published snapshot turned out to take. If there cannot be enough it
    /// is taken back, and what it superseded is there again: so not after it was made durable.
    answer after_save(const present& now, const std::string& id);

    /// What is wrong with the place where the child could not save, as a clause; empty if nothing
    /// is: "Read-only file system", "12 KiB are free on its disk".
    std::string find_trouble(std::optional<std::uint64_t> estimate);

private:
    eviction_question question_for(const present& now) const;
    bool make_room(inventory& stored, eviction_question& question);
    bool
    remove_victims(const inventory& stored, const eviction_plan& plan, eviction_question& question);
    std::string describe(const inventory& stored) const;
    std::string advise(const inventory& stored, std::uint64_t needed) const;

    disk& disk_;
    std::filesystem::path root_;
    std::string directory_;
    disk_bound bound_;
    std::function<void(const std::string& kind)> on_removal_;
};

} // namespace hibernate::store

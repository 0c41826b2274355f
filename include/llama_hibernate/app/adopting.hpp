#pragma once
// Takes over slot files that llama-server wrote for somebody else ("0.bin" of llama-save-wrapper),
// before anything is restored and before any traffic: while the slots are empty there is nothing
// that it could displace.
//
// One file after the other, through the first slot. Its first tokens are computed, then its state
// is restored cut to these tokens, and the two have to agree (keeper/adoption.hpp). Only then is it
// restored whole and saved as an ordinary snapshot. What the child is given is a copy in the model
// directory, under a staging name: the file itself is only read. A state that is not checked yet
// never holds more tokens than the prompts of the check, or llama-server would keep a copy of it in
// its RAM cache; and the slot is emptied after each file, whatever came of it.
//
// What speaks against a file for good is noted with the model (store/adoption_record.hpp), and so
// is that it was adopted. What the deadline or the disk prevents is tried again at the next start.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "llama_hibernate/app/adoptable_files.hpp"
#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/app/restoring.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/keeper/adoption.hpp"
#include "llama_hibernate/keeper/save_plan.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/store/adoption_record.hpp"
#include "llama_hibernate/store/model_directory.hpp"

namespace hibernate::app {

struct adoption_report {
    std::size_t adopted = 0;
    child_state child = child_state::well;
};

class file_adopter {
public:
    using time_point = std::chrono::steady_clock::time_point;

    struct hooks {
        /// Whether a copy of so many bytes has a place for a moment: empty, or why not. Nothing is
        /// evicted for a file that may turn out to be nothing. Disk thread.
        std::function<std::string(std::uint64_t bytes)> find_room;
        /// Whether a long copy may go on. Disk thread.
        std::function<bool()> goes_on;
        /// Saves the slot as a snapshot: its id, or none and a log line.
        std::function<awaitable<std::optional<std::string>>(
            keeper::slot_to_save slot, time_point limit)>
            save;
        /// The child is given this file now: if it dies, that is to blame. Empty: it is not any
        /// more.
        std::function<void(const std::string& file)> offered;
        std::function<bool()> abandoned;
    };

    /// Everything referred to outlives the call of run().
    file_adopter(
        llama::client& client,
        disk_thread& thread,
        disk& files,
        store::model_directory& directory,
        child_facts facts,
        std::uint64_t min_tokens,
        hooks told);

    /// Completes when all files of the folder are done, at the deadline, as soon as abandoned()
    /// says so, or when the child is not well any more.
    awaitable<adoption_report> run(std::filesystem::path folder, time_point deadline);

private:
    /// What came of a file. Without a reason it was adopted.
    struct verdict {
        std::string why_not;
        bool for_good = false; ///< the next start need not try it again
    };
    awaitable<verdict> adopt(adoptable_file file, time_point deadline);
    awaitable<verdict>
    check(const adoptable_file& file, const llama::state_file_head& head, time_point deadline);
    awaitable<verdict>
    take(const adoptable_file& file, const llama::state_file_head& head, time_point deadline);
    awaitable<std::string> learn_length(std::vector<llama::token> probe, time_point deadline);
    awaitable<std::optional<keeper::state_sample>> save_sample(time_point deadline);
    awaitable<verdict> bring(
        const adoptable_file& file,
        const llama::state_file_head& head,
        std::size_t tokens,
        time_point deadline);
    awaitable<void> empty_slot();
    awaitable<void> note(const adoptable_file& file, std::string outcome);
    verdict cannot_ask(const char* what, const llama::call_failure& failure, time_point deadline);

    llama::client& client_;
    disk_thread& thread_;
    disk& files_;
    store::model_directory& directory_;
    child_facts facts_; ///< the child may die, and the owner forget it
    hooks told_;
    keeper::adoption_limits limits_;
    std::optional<keeper::state_length> length_;
    store::adoption_record record_;
    adoption_report report_;
    bool restore_refused_ = false; ///< it may have harmed the child
};

/// Notes in the model directory that the child died of this file. Blocks.
void note_fatal_file(
    disk& files,
    const std::filesystem::path& directory,
    const store::signature& signature,
    const std::string& file);

} // namespace hibernate::app

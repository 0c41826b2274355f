#pragma once
// Which request's receipt belongs to which slot, and what that says of a snapshot that was
// restored: pure.
//
// The receipts are the responses' own; who worked on them shows GET /slots, by the tasks. Where two
// requests ended between two looks it is not known whose is whose, and then nothing is concluded:
// that a restore was of no use is only said when it is certain.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "llama_hibernate/llama/prompt_counts.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::keeper {

/// What became of a restored snapshot.
enum class reuse {
    unknown, ///< nobody asked for it yet, or it cannot be told
    reused,
    missed, ///< its conversation went on, and was computed again
};

/// The requests that ran in one slot since it was saved last.
struct slot_turns {
    struct turn {
        llama::receipt receipt;
        /// Tokens that the child computed before it, since the restore: what may have displaced
        /// what was restored.
        std::uint64_t computed_before = 0;
    };
    std::vector<turn> turns; ///< in their order
    bool complete = true;    ///< the receipts of all of them are here
};

class slot_receipts {
public:
    /// One for each request that ended; nothing where it brought no receipt: it failed, needed no
    /// slot, or its client left.
    using ended_requests = std::vector<std::optional<llama::receipt>>;

    /// From GET /slots when nothing ran since the restore.
    void begin_with(const std::vector<llama::slot>& slots);

    /// From GET /slots, asked after those requests had ended.
    void observe(const std::vector<llama::slot>& slots, const ended_requests& ended);

    /// Of the slot now.
    slot_turns turns_of(int slot) const;

    /// What those turns left in the slot was saved.
    void saved(int slot);

private:
    struct account {
        std::int64_t task = -1; ///< the last one that a receipt was looked for
        slot_turns since_save;
    };
    std::map<int, account> slots_;
    std::uint64_t computed_ = 0;
};

/// What the turns since the last save tell of a restored snapshot of so many tokens, if what is in
/// the slot now continues it. It is the first request that had all of the snapshot in its prompt
/// that counts; those after it find what it left in the slot. Half of it reused is enough: where
/// another conversation with the same beginning took its slot, that much is lost to
/// llama-server. kept_tokens is how many tokens the child can compute until it has to give up what
/// was restored, and then nothing is concluded.
reuse judge_restored(const slot_turns& turns, std::uint64_t tokens, std::uint64_t kept_tokens);

} // namespace hibernate::keeper

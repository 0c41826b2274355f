#pragma once
// Which request ran in which slot, by the tasks that GET /slots shows, and what its receipt says of
// a snapshot that was restored: pure.
//
// Where two requests ended between two looks it is not known whose is whose, and then nothing is
// concluded: that a restore was of no use is only said when it is certain.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

struct ended_request {
    /// None if it failed, needed no slot, or its client left.
    std::optional<llama::receipt> receipt;
    std::string body_start; ///< as proxy::request_view has it
};

/// The requests that ran in one slot since it was saved last.
struct slot_turns {
    struct turn {
        llama::receipt receipt;
        bool proves_misses = false; ///< nothing ran before it since the restore, or chose its slot
    };
    std::vector<turn> turns; ///< in their order
    bool complete = true;    ///< the receipts of all of them are here
};

class slot_receipts {
public:
    /// From GET /slots when nothing ran since the restore.
    void begin_with(const std::vector<llama::slot>& slots);

    /// From GET /slots, asked after those requests had ended, while so many others went on.
    void observe(
        const std::vector<llama::slot>& slots,
        const std::vector<ended_request>& ended,
        std::size_t in_flight);

    /// Of the slot now.
    slot_turns turns_of(int slot) const;

    /// Of the request whose task is that one, the last in the slot; empty if it is not known.
    const std::string& body_start_of(int slot, std::int64_t task) const;

    /// What those turns left in the slot was saved.
    void saved(int slot);

private:
    struct account {
        std::int64_t task = -1; ///< the last one that a receipt was looked for
        slot_turns since_save;
        std::int64_t started_task = -1; ///< the one that body_start is of
        std::string body_start;
    };
    std::map<int, account> slots_;
    bool anything_ran_ = false;
};

/// What the turns since the last save tell of a restored snapshot whose next prompt should have
/// found so many tokens, if what is in the slot now continues it. The first request that
/// goes on from there counts, and not those after it, which find what it left in the slot; nor one
/// that asks for another reply to the same prompt, which some models have to compute anew. Half is
/// enough: where another one with the same beginning took its slot, that much is lost to
/// llama-server.
///
/// Only the first request after a restore can prove a miss, and only if it found nothing at all:
/// later ones may have lost their slot, or their place in the RAM cache, to those before them.
reuse judge_restored(const slot_turns& turns, std::uint64_t tokens);

/// How many tokens that first request found; 0 if it is not known.
std::uint64_t reused_of_restored(const slot_turns& turns, std::uint64_t tokens);

/// Whether a request chooses its slot, or does not want to reuse anything, by what stands in its
/// body: then what it finds proves nothing.
bool chooses_cache(std::string_view body_start);

} // namespace hibernate::keeper

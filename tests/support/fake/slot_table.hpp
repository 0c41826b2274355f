#pragma once
// The slots and the RAM prompt cache of the scripted llama-server: which slot a prompt gets, how
// much of it is reused, and what becomes of the other slots. Tokens are the bytes of the text.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "settings.hpp"
#include "state_file.hpp"

namespace fake {

struct slot {
    token_list held;
    bool useless = false; ///< it was restored, and is not reused
    bool busy = false;
    int weights = 0;    ///< of the model that computed what it holds
    long task = -1;     ///< of the last completion; -1: it never ran one
    long last_used = 0; ///< 0: never
};

class slot_table {
public:
    explicit slot_table(const settings& settings);

    std::size_t size() const noexcept { return slots_.size(); }
    slot& at(std::size_t id) { return slots_[id]; }

    /// llama-server never refuses an id: it wraps around.
    std::size_t wrapped(long id) const noexcept;

    /// The slot that a prompt without id_slot gets: the best match, else the one used longest ago;
    /// none while all are busy. by_age tells that it was the latter.
    struct choice {
        std::size_t slot;
        bool by_age;
    };
    std::optional<choice> choose(const token_list& prompt) const;

    /// Gives the slot to a completion: consults the RAM cache where llama-server does, empties the
    /// other slots where it does, and returns how many tokens of the prompt are there already.
    /// Afterwards the slot holds the prompt and is busy.
    std::size_t begin(std::size_t id, const token_list& prompt, bool by_age, bool reuse);

    /// All is forgotten, as when the server goes to sleep.
    void forget();

private:
    void remember(slot& from);
    void recall(slot& into, const token_list& prompt);

    std::vector<slot> slots_;
    std::vector<token_list> ram_;
    bool ram_enabled_;
    bool empties_idle_;
    bool hybrid_;
    int weights_;
    long clock_ = 0;
    long tasks_ = 0;
};

/// What the model says after these tokens: a letter or a space that depends on all of them.
std::int32_t next_token(const token_list& held);

/// The same as the ten most probable tokens, with the logarithms of their probabilities: those of
/// another model are others, and what was computed in one go is not quite what was in two.
std::vector<std::pair<std::int32_t, double>>
next_tokens(const token_list& held, int weights, bool in_two);

} // namespace fake

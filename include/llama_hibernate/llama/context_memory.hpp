#pragma once
// What a model remembers of its context, told from its header. It decides which prompts can use a
// restored slot: of a model that remembers less than everything, only those that go on from the
// very end of it, or from a checkpoint in its file (state_trailers.hpp).

#include "llama_hibernate/llama/gguf.hpp"

namespace hibernate::llama {

enum class context_memory {
    everything,     ///< every layer, every token
    sliding_window, ///< some layers keep only the latest tokens
    recurrent,      ///< some layers keep one state of them all (state space, linear attention)
};

/// A model of a kind that is not known here counts as one that remembers everything.
context_memory context_memory_of(const gguf_header& header);

/// "sliding-window", for people.
const char* to_string(context_memory memory);

} // namespace hibernate::llama

#pragma once
// The text of tokens, from the tokenizer in a model file's header and without llama-server:
//
//     tokenizer.ggml.model       how the strings below are spelled
//     tokenizer.ggml.pre         for "gpt2", three values of which change that
//     tokenizer.ggml.tokens      a string for each token, by id
//     tokenizer.ggml.token_type  an integer for each (1 normal, 2 unknown, 3 control, 4
//     user-defined,
//                                5 unused, 6 byte); without it all are normal
//
// Two spellings are known. Of "llama" (SPM) and "gemma4", U+2581 is a space and "<0xNN>" a byte. Of
// "gpt2" (BPE), each character stands for a byte. Tokens that are not normal text, such as
// <|im_start|>, are written out in either. llama.cpp makes the same text of tokens, but for the
// space that it may take away at the beginning, and it writes nothing for an unused token.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/types.hpp"

namespace hibernate::llama {

/// Bytes by token; a character may be spread over the bytes of several tokens. They are a
/// stranger's: see printable_text.
using token_texts = std::map<token, std::string>;

/// The texts, or why there are none: a clause.
struct token_texts_reading {
    std::optional<token_texts> texts;
    std::string problem; ///< empty when there are texts
};

/// The texts of these tokens; missing are those that the model does not have and those of more than
/// 64 KiB. The file is the model, or the first of its shards (shards_of(file).front()), the one
/// that holds the tokenizer. Links are followed. The error is the disk's; a tokenizer of another
/// kind is a problem, and token ids have to do.
io_result<token_texts_reading>
read_token_texts(disk& disk, const std::filesystem::path& file, const std::set<token>& wanted);

/// The texts of tokens one after the other; "[token 7]" in place of one that has none, "[media]" in
/// place of all the positions that an image or a sound takes (-1).
std::string join_texts(std::span<const token> tokens, const token_texts& texts);

} // namespace hibernate::llama

// A model file's header: whatever it claims, its readers stay within it.

#include <cstdlib>
#include <vector>

#include "fuzz.hpp"
#include "llama_hibernate/base/utf8.hpp"
#include "llama_hibernate/llama/gguf.hpp"
#include "llama_hibernate/llama/state_size.hpp"
#include "llama_hibernate/llama/vocabulary.hpp"
#include "virtual_disk.hpp"

using hibernate::test::require;

namespace {

void read_header(hibernate::disk& disk, std::size_t size) {
    const auto reading = hibernate::llama::read_gguf(disk, "/a.gguf");
    require(reading.has_value());
    require(reading->header.has_value() == reading->problem.empty());
    if (reading->header) {
        require(reading->header->bytes <= size);
        require(reading->header->tensor_count <= size);
        (void)reading->header->split_count();
        const auto bytes = hibernate::llama::bytes_per_token(*reading->header, "f32", "f32");
        require(!bytes || *bytes < std::uint64_t{1} << 48);
    }
}

void read_vocabulary(hibernate::disk& disk, std::size_t size) {
    const std::vector<hibernate::llama::token> tokens{-1, 0, 1, 2, 300, 0x7fffffff};
    const auto reading =
        hibernate::llama::read_token_texts(disk, "/a.gguf", {tokens.begin(), tokens.end()});
    require(reading.has_value());
    require(reading->texts.has_value() == reading->problem.empty());
    if (reading->texts) {
        require(reading->texts->size() <= size / 8); // each has a length of eight bytes
        const auto text =
            hibernate::printable_text(hibernate::llama::join_texts(tokens, *reading->texts));
        require(hibernate::printable_text(text) == text);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    hibernate::test::virtual_disk disk;
    disk.put("/a.gguf", hibernate::test::text_of(data, size));
    read_header(disk, size);
    read_vocabulary(disk, size);
    return 0;
}

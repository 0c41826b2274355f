// A slot's file: its head from memory and from a disk are one, its start agrees with them, and its
// trailers lie within it.

#include "fuzz.hpp"
#include "llama_hibernate/llama/state_file.hpp"
#include "llama_hibernate/llama/state_trailers.hpp"
#include "virtual_disk.hpp"

using hibernate::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = hibernate::test::text_of(data, size);
    hibernate::test::virtual_disk disk;
    disk.put("/a.kv", bytes);
    const auto parsed = hibernate::llama::parse_state_file_head(bytes, size);
    const auto read = hibernate::llama::read_state_file_head(disk, "/a.kv");
    require(parsed.head.has_value() == parsed.problem.empty());
    require(parsed.head.has_value() == read.head.has_value());
    require(parsed.problem == read.problem);
    const auto start = hibernate::llama::read_state_file_start(disk, "/a.kv");
    require(start.start.has_value() == start.problem.empty());
    if (!read.head) {
        return 0;
    }
    require(start.start && start.start->version == read.head->version);
    require(start.start->tokens == read.head->tokens.size());
    require(read.head->tokens == parsed.head->tokens);
    require(read.head->bytes < size);
    require(hibernate::llama::continues(*read.head, *parsed.head));

    const auto found = hibernate::llama::read_state_trailers(disk, "/a.kv", *read.head);
    require(found.trailers.has_value() == found.problem.empty());
    if (found.trailers) {
        require(found.trailers->state_end <= size);
        require(found.trailers->state_end >= read.head->bytes);
        std::uint64_t within = found.trailers->draft_bytes;
        for (const auto& checkpoint : found.trailers->checkpoints) {
            require(checkpoint.bytes <= size);
            within += checkpoint.bytes;
        }
        require(found.trailers->state_end + within <= size);
    }
    return 0;
}

// A model file's header: whatever it claims, the reader stays within it.

#include <cstdlib>

#include "fuzz.hpp"
#include "llama_hibernate/llama/gguf.hpp"
#include "virtual_disk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    hibernate::test::virtual_disk disk;
    disk.put("/a.gguf", hibernate::test::text_of(data, size));
    const auto reading = hibernate::llama::read_gguf(disk, "/a.gguf");
    hibernate::test::require(reading.has_value());
    hibernate::test::require(reading->header.has_value() == reading->problem.empty());
    if (reading->header) {
        hibernate::test::require(reading->header->bytes <= size);
        hibernate::test::require(reading->header->tensor_count <= size);
        (void)reading->header->split_count();
    }
    return 0;
}

// The receipt of a response is the same however its bytes arrive, and text changes none.

#include <algorithm>
#include <string_view>

#include "fuzz.hpp"
#include "llama_hibernate/llama/receipt_reader.hpp"

using hibernate::llama::receipt;
using hibernate::llama::receipt_reader;
using hibernate::test::require;

namespace {

std::optional<receipt> read_in_pieces(std::string_view body, std::size_t piece) {
    receipt_reader reader;
    while (!body.empty()) {
        const auto part = body.substr(0, piece);
        reader.feed(part);
        body.remove_prefix(part.size());
    }
    return reader.result();
}

/// As a JSON string holds it.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char byte : text) {
        if (byte == '"' || byte == '\\') {
            result += '\\';
        }
        result += byte == '\n' ? ' ' : byte;
    }
    return result + '"';
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The first byte is how many bytes arrive at once.
    if (size == 0) {
        return 0;
    }
    const std::size_t piece = std::max<std::size_t>(data[0], 1);
    const auto body = hibernate::test::text_of(data + 1, size - 1);
    require(read_in_pieces(body, piece) == read_in_pieces(body, std::string_view::npos));

    const auto answer =
        "{\"content\":" + quoted(body) + R"(,"timings":{"cache_n":3,"prompt_n":4}})";
    require(read_in_pieces(answer, piece) == receipt{3, 4});
    require(read_in_pieces("data: " + answer + "\n\n", piece) == receipt{3, 4});
    require(!read_in_pieces("{\"timings\":" + quoted(body) + "}", piece));
    return 0;
}

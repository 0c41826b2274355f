// A chunked body: its end and its payload are the same however the bytes arrive.

#include <algorithm>

#include "fuzz.hpp"
#include "llama_hibernate/proxy/framing.hpp"

using hibernate::proxy::chunk_scanner;
using hibernate::test::require;

namespace {

struct outcome {
    std::size_t scanned = 0;
    std::string payload;
    bool done = false;
    bool malformed = false;

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome extract_in_pieces(std::string bytes, std::size_t piece) {
    chunk_scanner scanner;
    outcome result;
    while (result.scanned < bytes.size() && !scanner.done() && !scanner.malformed()) {
        const auto length = std::min(piece, bytes.size() - result.scanned);
        const auto part = scanner.extract(std::span(bytes.data() + result.scanned, length));
        require(part.payload <= part.scanned && part.scanned <= length);
        result.payload.append(bytes, result.scanned, part.payload);
        result.scanned += part.scanned;
        require(part.scanned == length || scanner.done() || scanner.malformed());
    }
    result.done = scanner.done();
    result.malformed = scanner.malformed();
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The first byte is how many bytes arrive at once.
    if (size == 0) {
        return 0;
    }
    const std::size_t piece = std::max<std::size_t>(data[0], 1);
    const auto bytes = hibernate::test::text_of(data + 1, size - 1);
    const auto whole = extract_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
    require(whole == extract_in_pieces(bytes, piece));

    chunk_scanner scanner;
    std::string shown;
    const auto show = [&](std::string_view payload) { shown += payload; };
    require(scanner.scan(bytes, show) == whole.scanned);
    require(shown == whole.payload);
    require(scanner.done() == whole.done && scanner.malformed() == whole.malformed);
    require(!(whole.done && whole.malformed));
    return 0;
}

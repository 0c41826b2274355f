#include <span>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "llama_hibernate/proxy/framing.hpp"

using hibernate::proxy::body_scanner;
using hibernate::proxy::chunk_scanner;
using hibernate::proxy::framing;

namespace {

struct scanned {
    std::size_t taken = 0;
    bool done = false;
    bool malformed = false;
};

/// Feeds the bytes in two pieces, split at a position.
scanned scan_split(std::string_view bytes, std::size_t split) {
    chunk_scanner scanner;
    scanned result;
    result.taken = scanner.scan(bytes.substr(0, split));
    if (result.taken == split) {
        result.taken += scanner.scan(bytes.substr(split));
    }
    result.done = scanner.done();
    result.malformed = scanner.malformed();
    return result;
}

constexpr std::string_view chunked_body =
    "4;name=\"v\"\r\nWiki\r\n0005\r\npedia\r\nA;x\r\n0123456789\r\n"
    "0\r\nTrailer: yes\r\nOther: 1\r\n\r\n";

} // namespace

TEST_CASE("a chunked body ends at the same byte however it arrives") {
    const std::string bytes = std::string(chunked_body) + "GET / HTTP/1.1\r\n";
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
        const auto result = scan_split(bytes, split);
        INFO("split at " << split);
        CHECK(result.done);
        CHECK_FALSE(result.malformed);
        CHECK(result.taken == chunked_body.size());
    }
}

TEST_CASE("a chunked body is not done one byte before its end") {
    const auto result = scan_split(chunked_body.substr(0, chunked_body.size() - 1), 7);
    CHECK_FALSE(result.done);
    CHECK_FALSE(result.malformed);
}

TEST_CASE("malformed chunks are told from good ones, however they arrive") {
    const std::string bytes = GENERATE(
        as<std::string>{}, "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n",
        "1\n", "1\rx", "1;a\nb", "1;a\rb", "1\r\nab\r\n", "1\r\na\n", "1\r\na\rb",
        "00000000000000001\r\n", "0\r\n\n", "0\r\nA: b\n\r\n", "0\r\nA: b\rc", "0\r\n\rx", ";\r\n");
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
        const auto result = scan_split(bytes, split);
        INFO(bytes << " split at " << split);
        CHECK(result.malformed);
        CHECK_FALSE(result.done);
        CHECK(result.taken < bytes.size());
    }
}

TEST_CASE("a chunk line and the trailers cannot grow without end") {
    chunk_scanner line;
    line.scan("1;" + std::string(100'000, 'x'));
    CHECK(line.malformed());
    chunk_scanner trailers;
    std::string many = "0\r\n";
    for (int count = 0; count < 10'000; ++count) {
        many += "Name: value\r\n";
    }
    trailers.scan(many);
    CHECK(trailers.malformed());
}

TEST_CASE("a chunk may be larger than any integer we would add it to") {
    chunk_scanner scanner;
    scanner.scan("ffffffffffffffff\r\nabc");
    CHECK_FALSE(scanner.malformed());
    CHECK_FALSE(scanner.done());
}

TEST_CASE("extracting leaves the payload alone, however it arrives") {
    for (std::size_t split = 0; split <= chunked_body.size(); ++split) {
        chunk_scanner scanner;
        std::string payload;
        for (const auto piece : {chunked_body.substr(0, split), chunked_body.substr(split)}) {
            std::string bytes(piece);
            const auto part = scanner.extract(bytes);
            CHECK(part.scanned == bytes.size());
            payload += bytes.substr(0, part.payload);
        }
        INFO("split at " << split);
        CHECK(scanner.done());
        CHECK(payload == "Wikipedia0123456789");
    }
}

TEST_CASE("a body of known length ends after it") {
    body_scanner body({framing::kind::length, 5});
    CHECK(body.scan("abc") == 3);
    CHECK_FALSE(body.done());
    CHECK(body.scan("defg") == 2);
    CHECK(body.done());
    CHECK(body.scan("more") == 0);
}

TEST_CASE("no body is done at once, and takes nothing") {
    body_scanner body({framing::kind::none, 0});
    CHECK(body.done());
    CHECK(body.scan("GET") == 0);
    CHECK(body_scanner({framing::kind::length, 0}).done());
}

TEST_CASE("a body until the close takes all, and is never done by itself") {
    body_scanner body({framing::kind::until_close, 0});
    std::string bytes = "abc";
    const auto part = body.extract(bytes);
    CHECK(part.scanned == 3);
    CHECK(part.payload == 3);
    CHECK_FALSE(body.done());
}

TEST_CASE("scanning shows the payload where it lies, however it arrives") {
    const std::string bytes = std::string(chunked_body) + "GET / HTTP/1.1\r\n";
    for (std::size_t split = 0; split <= bytes.size(); ++split) {
        chunk_scanner scanner;
        std::string payload;
        std::size_t scanned = 0;
        for (const auto piece :
             {std::string_view(bytes).substr(0, split), std::string_view(bytes).substr(split)}) {
            scanned += scanner.scan(piece, [&](std::string_view shown) {
                CHECK_FALSE(shown.empty());
                CHECK(shown.data() >= piece.data());
                CHECK(shown.data() + shown.size() <= piece.data() + piece.size());
                payload += shown;
            });
        }
        INFO("split at " << split);
        CHECK(scanner.done());
        CHECK(scanned == chunked_body.size());
        CHECK(payload == "Wikipedia0123456789");
    }
}

TEST_CASE("of a body without chunks everything is payload, up to its end") {
    std::string payload;
    const auto show = [&](std::string_view shown) { payload.append(shown).append("|"); };
    body_scanner sized({framing::kind::length, 5});
    sized.scan("abc", show);
    sized.scan("defg", show);
    sized.scan("more", show);
    body_scanner endless({framing::kind::until_close, 0});
    endless.scan("xyz", show);
    CHECK(payload == "abc|de|xyz|");
}

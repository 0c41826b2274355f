#include "llama_hibernate/llama/model_identity.hpp"

#include "catch.hpp"
#include "gguf_bytes.hpp"
#include "virtual_disk.hpp"

using hibernate::llama::identify_model;
using hibernate::llama::shards_of;
using namespace hibernate::test;

namespace {

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

std::string varied_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::uint32_t state = 1;
    for (auto& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<char>(state >> 24);
    }
    return bytes;
}

std::string identity(virtual_disk& disk, const char* file) {
    const auto id = identify_model(disk, file);
    REQUIRE(id);
    CHECK(id->size() == 32);
    return *id;
}

} // namespace

TEST_CASE("a model keeps its identity when it moves") {
    virtual_disk disk;
    const auto content = varied_bytes(3 * mebibyte);
    disk.put("/models/a.gguf", content);
    disk.put("/elsewhere/b.gguf", content);
    CHECK(identity(disk, "/models/a.gguf") == identity(disk, "/elsewhere/b.gguf"));
    CHECK(identity(disk, "/models/a.gguf") == identity(disk, "/models/a.gguf"));
}

TEST_CASE("a model of the same size that differs where it is read has another identity") {
    virtual_disk disk;
    const std::size_t size = 20 * mebibyte;
    disk.put("/a.gguf", varied_bytes(size));
    const auto before = identity(disk, "/a.gguf");
    // The beginning, its last byte, the first block, the last byte of all.
    for (const auto offset :
         {std::size_t{0}, mebibyte - 1, mebibyte, mebibyte + 4095, size - 4096, size - 1}) {
        disk.change_byte("/a.gguf", offset);
        CHECK(identity(disk, "/a.gguf") != before);
        disk.change_byte("/a.gguf", offset);
    }
    CHECK(identity(disk, "/a.gguf") == before);
}

TEST_CASE("a stretch of other weights is noticed wherever it lies") {
    virtual_disk disk;
    const std::size_t size = 20 * mebibyte;
    disk.put("/a.gguf", varied_bytes(size));
    const auto before = identity(disk, "/a.gguf");
    // 19 MiB hold 64 blocks, so no stretch of 316 KiB is free of them.
    constexpr std::size_t stretch = std::size_t{316} * 1024;
    constexpr std::size_t block = 4096;
    for (std::size_t start = mebibyte; start + stretch <= size; start += stretch / 2) {
        const auto change = [&] {
            for (auto offset = start; offset < start + stretch; offset += block) {
                disk.change_byte("/a.gguf", offset);
            }
        };
        change();
        CHECK(identity(disk, "/a.gguf") != before);
        change();
    }
}

TEST_CASE("the whole header of a large model counts, however long its tokenizer is") {
    virtual_disk disk;
    std::string tokens;
    constexpr std::uint64_t count = 300'000;
    for (std::uint64_t i = 0; i < count; ++i) {
        tokens += gguf_raw_text("token");
    }
    const auto header = gguf_file(
        {gguf_entry("tokenizer.ggml.tokens", gguf_array(8, count, tokens)),
         gguf_entry("llama.rope.freq_base", gguf_number(6, 4, 0x461c4000))},
        {gguf_tensor("token_embd.weight", {64, 300})});
    REQUIRE(header.size() > 3 * mebibyte);
    disk.put("/a.gguf", header + varied_bytes(20 * mebibyte));
    const auto before = identity(disk, "/a.gguf");
    for (const auto offset : {std::size_t{30}, 2 * mebibyte, header.size() - 1, header.size()}) {
        disk.change_byte("/a.gguf", offset);
        CHECK(identity(disk, "/a.gguf") != before);
        disk.change_byte("/a.gguf", offset);
    }
    CHECK(identity(disk, "/a.gguf") == before);
}

TEST_CASE("a tensor that was retrained alone is noticed, however small it is") {
    virtual_disk disk;
    constexpr std::uint64_t tensor_bytes = 64 * 1024; // less than lies between two blocks
    constexpr std::uint64_t count = 20 * mebibyte / tensor_bytes;
    std::vector<std::string> tensors;
    for (std::uint64_t i = 0; i < count; ++i) {
        tensors.push_back(gguf_tensor("t" + std::to_string(i), {8}, i * tensor_bytes));
    }
    auto content = gguf_file({}, tensors);
    content.resize((content.size() + 31) / 32 * 32);
    const auto data = content.size();
    content += varied_bytes(count * tensor_bytes);
    disk.put("/a.gguf", content);
    const auto before = identity(disk, "/a.gguf");
    for (std::uint64_t i = 0; i < count; i += 37) {
        auto changed = content;
        for (auto at = data + i * tensor_bytes; at < data + (i + 1) * tensor_bytes; ++at) {
            changed[at] = static_cast<char>(changed[at] + 1);
        }
        disk.put("/a.gguf", changed);
        CHECK(identity(disk, "/a.gguf") != before);
    }
}

TEST_CASE("tensors that claim to lie anywhere harm nothing") {
    virtual_disk disk;
    const auto far = ~std::uint64_t{0};
    auto content = gguf_file({}, {gguf_tensor("a", {8}, far), gguf_tensor("b", {8}, far / 2)});
    disk.put("/a.gguf", content + varied_bytes(17 * mebibyte));
    identity(disk, "/a.gguf");
}

TEST_CASE("a small model is read whole") {
    virtual_disk disk;
    const auto size = GENERATE(std::size_t{1}, std::size_t{5000}, mebibyte, 16 * mebibyte);
    disk.put("/a.gguf", varied_bytes(size));
    const auto before = identity(disk, "/a.gguf");
    for (const auto offset : {std::size_t{0}, size / 2, size - 1}) {
        disk.change_byte("/a.gguf", offset);
        CHECK(identity(disk, "/a.gguf") != before);
        disk.change_byte("/a.gguf", offset);
    }
    CHECK(identity(disk, "/a.gguf") == before);
}

TEST_CASE("another size alone is another identity") {
    virtual_disk disk;
    disk.put("/a.gguf", std::string(4 * mebibyte, '\0'));
    disk.put("/b.gguf", std::string(4 * mebibyte + 1, '\0'));
    CHECK(identity(disk, "/a.gguf") != identity(disk, "/b.gguf"));
}

TEST_CASE("a large model costs little more than a MiB to identify") {
    virtual_disk disk;
    disk.put("/a.gguf", varied_bytes(20 * mebibyte));
    disk.fail_at_step(0, {});
    identity(disk, "/a.gguf");
    // Its size, twice; whether it is a GGUF; the beginning; the blocks.
    CHECK(disk.steps() == 2 + 1 + 1 + 64);
}

TEST_CASE("every shard counts, whichever of them is named") {
    virtual_disk disk;
    const char* names[] = {
        "/m/big-00001-of-00003.gguf", "/m/big-00002-of-00003.gguf", "/m/big-00003-of-00003.gguf"};
    for (const auto* name : names) {
        disk.put(name, varied_bytes(10'000));
    }
    const auto before = identity(disk, names[0]);
    CHECK(identity(disk, names[1]) == before);
    for (const auto* name : names) {
        disk.change_byte(name, 5000);
        CHECK(identity(disk, names[0]) != before);
        disk.change_byte(name, 5000);
    }
    CHECK(identity(disk, names[0]) == before);
}

TEST_CASE("a model whose header says that it is one file is one, whatever its name looks like") {
    virtual_disk disk;
    const auto alone = gguf_file({}, {gguf_tensor("t", {1})});
    disk.put("/m/big-00001-of-00002.gguf", alone);
    disk.put("/m/plain.gguf", alone);
    CHECK(identity(disk, "/m/big-00001-of-00002.gguf") == identity(disk, "/m/plain.gguf"));
    // One that says that there are more needs them.
    disk.put("/m/big-00001-of-00002.gguf", gguf_file({gguf_entry("split.count", gguf_u16(2))}, {}));
    CHECK(identify_model(disk, "/m/big-00001-of-00002.gguf").has_error());
}

TEST_CASE("a shard that is missing is an error") {
    virtual_disk disk;
    disk.put("/m/big-00001-of-00002.gguf", "one");
    const auto id = identify_model(disk, "/m/big-00001-of-00002.gguf");
    REQUIRE(id.has_error());
    CHECK(id.error() == boost::system::errc::no_such_file_or_directory);
}

TEST_CASE("a read that fails is an error") {
    virtual_disk disk;
    disk.put("/a.gguf", varied_bytes(17 * mebibyte));
    const auto failing = GENERATE(1U, 2U, 3U, 4U, 5U, 68U);
    disk.fail_at_step(failing, boost::system::errc::make_error_code(boost::system::errc::io_error));
    CHECK(identify_model(disk, "/a.gguf").has_error());
}

TEST_CASE("only names of the right shape are shards") {
    CHECK(shards_of("/m/a-00001-of-00002.gguf").size() == 2);
    CHECK(shards_of("/m/a-00002-of-00002.gguf").front() == "/m/a-00001-of-00002.gguf");
    for (const auto* name :
         {"a.gguf", "-00001-of-00002.gguf", "a-00003-of-00002.gguf", "a-00000-of-00002.gguf",
          "a-0001-of-00002.gguf", "a-00001-of-0000x.gguf", "a-00001-of-00002.bin",
          "a_00001-of-00002.gguf", "a-00001-OF-00002.gguf", "a-00001-of-99999.gguf"}) {
        CHECK(shards_of(name) == std::vector<std::filesystem::path>{name});
    }
}

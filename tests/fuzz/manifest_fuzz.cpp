// A manifest: what is read can be written, and then reads the same.

#include "fuzz.hpp"
#include "llama_hibernate/store/manifest.hpp"

using hibernate::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto first = hibernate::store::read_manifest(hibernate::test::text_of(data, size));
    require(first.value.has_value() == first.problem.empty());
    if (!first.value) {
        return 0;
    }
    const auto written = hibernate::store::write_manifest(*first.value);
    const auto second = hibernate::store::read_manifest(written);
    require(second.value.has_value());
    require(second.value->id == first.value->id);
    require(second.value->signature == first.value->signature);
    require(second.value->tokens == first.value->tokens);
    require(second.value->bytes == first.value->bytes);
    require(second.value->created == first.value->created);
    require(second.value->supersedes == first.value->supersedes);
    require(second.value->tokens_hash == first.value->tokens_hash);
    require(second.value->quarantine == first.value->quarantine);
    require(hibernate::store::write_manifest(*second.value) == written);
    return 0;
}

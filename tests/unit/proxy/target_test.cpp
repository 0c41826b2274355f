#include "catch.hpp"
#include "llama_hibernate/proxy/target.hpp"

using hibernate::proxy::path_as_served;
using hibernate::proxy::query_of;

namespace {

struct reading {
    const char* target;
    const char* path;
    const char* query;
};

} // namespace

TEST_CASE("a target's path is read as llama-server reads it") {
    const auto expected = GENERATE(values<reading>({
        {"/health", "/health", ""},
        {"/", "/", ""},
        {"*", "*", ""},
        {"/slots/0?action=save", "/slots/0", "action=save"},
        {"/slots/0?action=save?x", "/slots/0", "action=save?x"},
        {"/a?b#c", "/a", "b"},
        {"/a#b?c", "/a", ""},
        // percent-decoded once
        {"/%73lots/0", "/slots/0", ""},
        {"/slots%2F0", "/slots/0", ""},
        {"/%2573lots/0", "/%73lots/0", ""},
        {"/slots/0%3Faction=save", "/slots/0?action=save", ""},
        {"/%u0073lots/0", "/slots/0", ""},
        {"/%u00e9", "/\xc3\xa9", ""},
        {"/%u20ac", "/\xe2\x82\xac", ""},
        {"/%", "/%", ""},
        {"/%4", "/%4", ""},
        {"/%zz", "/%zz", ""},
        {"/%u00g0", "/%u00g0", ""},
        {"/a+b", "/a+b", ""},
        // dot segments and empty ones
        {"/./slots/0", "/slots/0", ""},
        {"/x/../slots/0", "/slots/0", ""},
        {"/x/%2e%2e/slots/0", "/slots/0", ""},
        {"//slots//0", "/slots/0", ""},
        {"/../../slots/0", "/slots/0", ""},
        {"/slots/", "/slots/", ""},
        {"/slots/.", "/slots/", ""},
        {"/a/..", "/", ""},
        // absolute form
        {"http://host/slots/0?a=b", "/slots/0", "a=b"},
        {"http://host:8080/slots/0", "/slots/0", ""},
        {"HTTPS://host", "/", ""},
        {"http://host?a=b", "/", "a=b"},
        {"/proxy/http://host/x", "/proxy/http:/host/x", ""},
    }));
    INFO(expected.target);
    CHECK(path_as_served(expected.target) == expected.path);
    CHECK(query_of(expected.target) == expected.query);
}

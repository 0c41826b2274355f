#include "catch.hpp"
#include "llama_hibernate/proxy/target.hpp"

using hibernate::proxy::path_as_served;
using hibernate::proxy::prefix_as_served;
using hibernate::proxy::query_of;
using hibernate::proxy::query_parameters;

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

TEST_CASE("a prefix is resolved as paths are, but not decoded") {
    CHECK(prefix_as_served("") == "");
    CHECK(prefix_as_served("/") == "");
    CHECK(prefix_as_served("/foo") == "/foo");
    CHECK(prefix_as_served("/foo/") == "/foo");
    CHECK(prefix_as_served("//a/./b/../c//") == "/a/c");
    CHECK(prefix_as_served("/a%20b") == "/a%20b");
}

TEST_CASE("the parameters of a query, decoded") {
    using parameters = std::vector<std::pair<std::string, std::string>>;
    CHECK(query_parameters("").empty());
    CHECK(
        query_parameters("a=1&b&&c=&%61=%31+%32&=x&d=e=f") ==
        parameters{{"a", "1"}, {"b", ""}, {"c", ""}, {"a", "1 2"}, {"", "x"}, {"d", "e=f"}});
}

#include "llama_hibernate/admin/status.hpp"

#include "catch.hpp"
#include "llama_hibernate/commands/status_arguments.hpp"
#include "llama_hibernate/commands/status_fetch.hpp"
#include "llama_hibernate/commands/status_report.hpp"
#include "some_overview.hpp"

using namespace hibernate;
using namespace hibernate::commands;
using kind = server_url::kind;
using hibernate::test::some_overview;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string report(bool colours = false) {
    return report_status(admin::status_as_json(some_overview()), {colours});
}

} // namespace

TEST_CASE("addresses are read as people write them") {
    CHECK(read_url("http://127.0.0.1:8080") == server_url{kind::http, "127.0.0.1", "8080", ""});
    CHECK(read_url("host:81/foo/") == server_url{kind::http, "host", "81", "/foo"});
    CHECK(read_url("http://host") == server_url{kind::http, "host", "80", ""});
    CHECK(read_url("https://host/a/b") == server_url{kind::https, "host", "443", "/a/b"});
    CHECK(read_url("http://[::1]:8080") == server_url{kind::http, "::1", "8080", ""});
    CHECK(read_url("https://[::1]") == server_url{kind::https, "::1", "443", ""});
    CHECK(read_url("unix:/run/a b.sock") == server_url{kind::unix_socket, "/run/a b.sock", "", ""});
    CHECK(read_url("unix:/a.sock/foo") == server_url{kind::unix_socket, "/a.sock", "", "/foo"});
    for (const char* text :
         {"", "http://", "gopher://x", "http://host:", "http://host:x", "http://a b", "unix:/run",
          "http://user@host", "http://host/?x", "http://host\r\nX: y"}) {
        CAPTURE(text);
        CHECK_FALSE(read_url(text));
    }
}

TEST_CASE("the report tells what the status does") {
    const auto text = report();
    CHECK(has(text, "llama-hibernate 1.2.3: ready, for 90 s\n"));
    CHECK(has(text, "server    b1-test, process 42, on 127.0.0.1:43210\n"));
    CHECK(has(text, "model     /models/a.gguf\n"));
    CHECK(has(text, "store     /cache: 4.88 KiB of at most 16.0 GiB, 1.00 MiB free on its disk\n"));
    CHECK(
        has(text, "reused    1507 of 3014 tokens that were restored since llama-hibernate started, "
                  "which saved 12.5 s\n"));
    CHECK(
        has(text, "restored  2 of 3 snapshots, 3014 tokens in 85 ms, at the last start of "
                  "llama-server\n"));
    CHECK(has(text, "\nlast stop 2001-"));
    CHECK(has(text, "NOT saved: 1 slot\n"));
    CHECK_FALSE(has(text, "\nnot saved "));
    CHECK(has(text, "   0    1507  aaaaaaaaaaaaaaaa  saved\n"));
    CHECK(has(text, "   1       -                 -  empty\n"));
    CHECK(has(text, "aaaaaaaaaaaaaaaa    1507  4.00 KiB  2001-09-09T01:47:30Z"));
    CHECK(has(text, "ready, pinned\n"));
    CHECK(has(text, "2001-09-09T01:47:30Z  saved slot 0\n"));
}

TEST_CASE("the report says first of all that nothing is saved") {
    auto what = some_overview();
    what.not_saved = "conversations are served, but neither saved nor restored: \x1b[31mwhy";
    const auto text = report_status(admin::status_as_json(what), {});
    CHECK(
        has(text, ": ready, for 90 s\nnot saved conversations are served, but neither saved nor "
                  "restored: "));
    CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("the report does not speak of a daemon that was not asked") {
    admin::overview what;
    what.version = "1.2.3";
    what.state = state_on_disk;
    const auto text = report_status(admin::status_as_json(what), {});
    CHECK(has(text, "llama-hibernate 1.2.3: no daemon was asked; this is what is on disk\n"));
    CHECK_FALSE(has(text, "for 0 s"));
}

TEST_CASE("an older daemon tells the kind of its address only") {
    const auto text =
        report_status(R"({"state":"ready","child":{"pid":42,"build":"b1","address":"unix"}})", {});
    CHECK(has(text, "server    b1, process 42, on unix\n"));
}

TEST_CASE("colours are for terminals, and names bring none of their own") {
    CHECK_FALSE(has(report(), "\x1b"));
    const auto text = report(true);
    CHECK(has(text, "\x1b[32msaved\x1b[0m\n"));
    CHECK(has(text, "\x1b[1mSLOT"));
    CHECK(has(text, "\x1b[31mbroken: "));
    CHECK_FALSE(has(text, "\x1b[31m\xff"));
}

TEST_CASE("what is no status has no report, and what is missing is left out") {
    for (const char* text : {"", "[]", "{}", "null", "<html>", R"({"state":7})"}) {
        CAPTURE(text);
        CHECK(report_status(text, {}).empty());
    }
    const auto text = report_status(R"({"state":"odd","slots":7,"child":[],"events":{"a":1}})", {});
    CHECK(has(text, "odd"));
}

TEST_CASE("the command line of status") {
    const auto plain = read_status_arguments({});
    REQUIRE(plain.request);
    CHECK(plain.request->url == "http://127.0.0.1:8080");
    CHECK_FALSE(plain.request->json);
    const auto full = read_status_arguments({"unix:/a.sock", "--json", "--api-key", "k"});
    REQUIRE(full.request);
    CHECK(full.request->url == "unix:/a.sock");
    CHECK(full.request->json);
    CHECK(full.request->api_key == "k");
    CHECK(read_status_arguments({"--model-dir", "/a"}).request->model_directory == "/a");
    CHECK(read_status_arguments({"--help"}).status == 0);
    CHECK(has(read_status_arguments({"--help"}).text, "--model-dir"));
    CHECK(read_status_arguments({"http://a", "--model-dir", "/a"}).status == 2);
    CHECK(read_status_arguments({"a", "b"}).status == 2);
}

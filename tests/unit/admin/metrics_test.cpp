#include "llama_hibernate/admin/metrics.hpp"

#include <set>
#include <sstream>

#include "catch.hpp"
#include "some_overview.hpp"

using namespace hibernate::admin;
using hibernate::test::some_overview;

namespace {

bool has_line(const std::string& text, const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

} // namespace

TEST_CASE("a histogram counts each value in every bucket that reaches it") {
    constexpr std::array bounds{1.0, 2.0};
    histogram values(bounds);
    for (const double value : {0.5, 1.0, 1.5, 9.0}) {
        values.note(value);
    }
    CHECK(values.count_up_to(0) == 2);
    CHECK(values.count_up_to(1) == 3);
    CHECK(values.count_up_to(2) == 4);
    CHECK(values.sum() == 12);
}

TEST_CASE("what was counted is told") {
    tallies counts;
    counts.saves[{"idle", "saved"}] = 3;
    counts.evictions["least_recent"] = 2;
    counts.responses[5] = 7;
    counts.prefill_seconds_saved = 1.5;
    counts.gate_wait_seconds.note(0.003);
    const auto text = metrics_as_text(some_overview(), counts, {4, 1});
    CHECK(has_line(text, R"(llama_hibernate_build_info{version="1.2.3"} 1)"));
    CHECK(has_line(text, R"(llama_hibernate_state{state="ready"} 1)"));
    CHECK(has_line(text, R"(llama_hibernate_state{state="loading"} 0)"));
    CHECK(has_line(text, R"(llama_hibernate_saves_total{reason="idle",result="saved"} 3)"));
    CHECK(has_line(text, R"(llama_hibernate_saves_total{reason="stop",result="failed"} 0)"));
    CHECK(has_line(text, R"(llama_hibernate_evictions_total{reason="least_recent"} 2)"));
    CHECK(has_line(text, R"(llama_hibernate_requests_total{code="5xx"} 7)"));
    CHECK(has_line(text, "llama_hibernate_prefill_seconds_saved_total 1.5"));
    CHECK(has_line(text, R"(llama_hibernate_gate_wait_seconds_bucket{le="0.001"} 0)"));
    CHECK(has_line(text, R"(llama_hibernate_gate_wait_seconds_bucket{le="0.005"} 1)"));
    CHECK(has_line(text, R"(llama_hibernate_gate_wait_seconds_bucket{le="+Inf"} 1)"));
    CHECK(has_line(text, "llama_hibernate_gate_wait_seconds_count 1"));
    CHECK(has_line(text, "llama_hibernate_store_bound_bytes 17179869184"));
    CHECK(has_line(text, "llama_hibernate_connections 4"));
}

TEST_CASE("a label cannot break out of its quotes") {
    auto what = some_overview();
    what.version = "a\"b\\c\nd";
    const auto text = metrics_as_text(what, {}, {});
    CHECK(has_line(text, R"(llama_hibernate_build_info{version="a\"b\\c\nd"} 1)"));
}

TEST_CASE("each family is told once, with its help and its type before it") {
    std::istringstream lines(metrics_as_text(some_overview(), {}, {}));
    std::set<std::string> families;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            CHECK(families.insert(family).second);
        } else if (line.starts_with("# TYPE ")) {
            CHECK(line.starts_with("# TYPE " + family + " "));
        } else {
            CHECK(line.starts_with(family));
        }
    }
    CHECK(families.size() > 20);
}

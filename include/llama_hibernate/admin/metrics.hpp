#pragma once
// GET /hibernate/metrics, in Prometheus' text format: pure. Every series is there from the start,
// with a zero, so that the first increase is seen; what is not known has none.

#include <cstddef>
#include <string>

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/admin/tallies.hpp"

namespace hibernate::admin {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// At this moment.
struct traffic {
    std::size_t connections = 0; ///< of clients
    std::size_t in_flight = 0;   ///< requests that the child works on, or that wait for it
};

std::string metrics_as_text(const overview& what, const tallies& counts, const traffic& now);

} // namespace hibernate::admin

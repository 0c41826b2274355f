#pragma once
// What a daemon counts while it runs, for its metrics: plain numbers, noted once per event and
// never per byte. One thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hibernate::admin {

/// How many values were how large, in Prometheus' sense.
class histogram {
public:
    /// The upper bounds of its buckets, each included, in order; the last one is without bound.
    explicit histogram(std::span<const double> bounds);

    void note(double value);

    std::span<const double> bounds() const noexcept { return bounds_; }
    /// Of values up to that bound, smaller ones included; of bounds().size(): of all.
    std::uint64_t count_up_to(std::size_t bound) const;
    double sum() const noexcept { return sum_; }

private:
    std::vector<double> bounds_;
    std::vector<std::uint64_t> counts_; ///< of each bucket by itself
    double sum_ = 0;
};

/// For what takes from a millisecond to some minutes.
inline constexpr std::array<double, 12> usual_seconds{0.001, 0.005, 0.02, 0.1, 0.25, 0.5,
                                                      1,     2.5,   5,    10,  30,   120};

struct tallies {
    /// By result: "restored", "not_restored" (planned, but unfit or out of time), "skipped" (made
    /// for other arguments or another build).
    std::map<std::string, std::uint64_t> restores;
    /// By reason ("idle", "growth", "stale", "handover", "stop", "adopt") and result ("saved",
    /// "failed").
    std::map<std::pair<std::string, std::string>, std::uint64_t> saves;
    std::map<std::string, std::uint64_t> evictions; ///< by reason, as store::victim has it
    std::uint64_t saved_bytes = 0;
    std::uint64_t restored_tokens = 0;
    std::uint64_t restored_tokens_reused = 0;
    std::uint64_t prompt_tokens_reused = 0;
    std::uint64_t prompt_tokens_computed = 0;
    double prefill_seconds_saved = 0;

    histogram save_seconds{usual_seconds};
    histogram restore_seconds{usual_seconds};
    /// How long a request that may need a slot waited in llama-hibernate before it went on.
    histogram gate_wait_seconds{usual_seconds};

    /// Final responses to requests for the child by their status' first digit, the proxy's own
    /// included.
    std::array<std::uint64_t, 6> responses{};
    std::uint64_t upstream_errors = 0; ///< the child could not be reached, or broke off
};

} // namespace hibernate::admin

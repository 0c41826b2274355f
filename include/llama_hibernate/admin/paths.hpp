#pragma once
// Which of our own paths a request means, and what it gets before anything is looked up: pure.

#include <string>
#include <string_view>

namespace hibernate::admin {

enum class resource {
    page,      ///< /hibernate/
    directory, ///< /hibernate, which lacks its slash
    status,    ///< /hibernate/status
    metrics,   ///< /hibernate/metrics
    events,    ///< /hibernate/events
    none,      ///< anything else below /hibernate/
};

/// Below an API prefix, as everything of llama-server's is.
class paths {
public:
    /// prefix as proxy::prefix_as_served has it.
    explicit paths(std::string_view prefix);

    /// path as proxy::path_as_served has it. At once: it is asked of every request.
    bool are_ours(std::string_view path) const noexcept;

    resource find(std::string_view path) const noexcept;

private:
    std::string root_; ///< "/prefix/hibernate"
};

} // namespace hibernate::admin

#pragma once
// The user's API keys, judged as llama-server judges them: pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hibernate::admin {

class api_keys {
public:
    explicit api_keys(std::vector<std::string> keys) : keys_(std::move(keys)) {}

    /// Of a request with those headers: Authorization, or X-Api-Key where that is absent or empty,
    /// each with "Bearer " before the key or without. Without keys everybody is admitted. How long
    /// it takes tells nothing about them but how many there are.
    bool admit(
        std::optional<std::string_view> authorization,
        std::optional<std::string_view> api_key) const;

private:
    std::vector<std::string> keys_;
};

} // namespace hibernate::admin

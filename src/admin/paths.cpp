#include "llama_hibernate/admin/paths.hpp"

namespace hibernate::admin {

paths::paths(std::string_view prefix) : root_(std::string(prefix) + "/hibernate") {}

bool paths::are_ours(std::string_view path) const noexcept {
    return path.starts_with(root_) && (path.size() == root_.size() || path[root_.size()] == '/');
}

resource paths::find(std::string_view path) const noexcept {
    const auto name = path.substr(root_.size());
    if (name.empty()) {
        return resource::directory;
    }
    if (name == "/") {
        return resource::page;
    }
    if (name == "/status") {
        return resource::status;
    }
    if (name == "/metrics") {
        return resource::metrics;
    }
    return name == "/events" ? resource::events : resource::none;
}

} // namespace hibernate::admin

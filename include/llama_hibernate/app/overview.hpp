#pragma once
// Gathers what a daemon knows of itself from its parts, as they are at this moment: it asks nobody.

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/app/keeping.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/app/server_process.hpp"

namespace hibernate::app {

struct overview_parts {
    const app::options& options;
    const server_process& child;
    const app::keeping& keeping;
    std::string_view state;
    admin::wall_time state_since{};
    admin::wall_time started{};
};

admin::overview gather_overview(const overview_parts& parts);

} // namespace hibernate::app

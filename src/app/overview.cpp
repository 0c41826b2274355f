#include "llama_hibernate/app/overview.hpp"

#include "llama_hibernate/admin/store_facts.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/version.hpp"

namespace hibernate::app {

admin::overview gather_overview(const overview_parts& parts) {
    admin::overview gathered;
    gathered.now = store::wall_now();
    gathered.version = version;
    gathered.state = parts.state;
    gathered.state_since = parts.state_since;
    gathered.started = parts.started;
    if (parts.child.running()) {
        admin::child_view child;
        child.pid = parts.child.pid();
        child.address = parts.options.internal_socket ? "unix" : "tcp";
        child.endpoint = parts.child.describe_endpoint();
        gathered.child = std::move(child);
    }
    gathered.min_tokens = parts.options.min_tokens;
    parts.keeping.describe(gathered);
    gathered.events = log::recent().all();
    return gathered;
}

void keeping::describe(admin::overview& into) const {
    into.not_saved = not_saved_;
    into.model.name = args_.model;
    if (facts_) {
        into.model.path = facts_->model_path;
        if (into.child) {
            into.child->build = facts_->build;
        }
    }
    into.reuse = journal_.reuse();
    if (!directory_) {
        return;
    }
    into.model.directory = directory_->path().filename().string();
    into.restore = journal_.restore();
    into.last_stop = last_stop_;
    if (live_) {
        into.slots = journal_.describe_slots(live_->slots().all(), options_.min_tokens);
    }
    if (const auto seen = look_ ? look_->latest() : nullptr) {
        into.store = admin::describe_store(
            seen->stored, directory_->path().parent_path(), into.model.directory,
            {options_.max_disk, options_.min_free}, seen->when);
    }
}

void keeping::look_at_store() {
    if (look_) {
        look_->begin();
    }
}

awaitable<void> keeping::refresh_look(std::chrono::milliseconds patience) {
    if (look_) {
        co_await look_->refresh(patience);
    }
}

} // namespace hibernate::app

#include "llama_hibernate/admin/store_facts.hpp"

#include <algorithm>
#include <tuple>

namespace hibernate::admin {

namespace {

snapshot_view describe(const store::stored_item& item, const std::string& superseded_by) {
    snapshot_view view;
    view.id = item.id;
    view.state = store::name_of_state(item, superseded_by);
    view.problem = item.problem;
    view.bytes = item.bytes;
    view.superseded_by = superseded_by;
    if (item.manifest) {
        const auto& saved = *item.manifest;
        view.tokens = saved.tokens;
        view.created = saved.created;
        view.last_used = saved.last_used;
        view.uses = saved.uses;
        view.reused = saved.reused;
        view.missed = saved.missed;
        view.pinned = saved.pinned;
        view.reason = saved.reason;
        view.boundary_of = saved.boundary_of;
    }
    return view;
}

} // namespace

store_view describe_store(
    const store::inventory& stored,
    const std::filesystem::path& root,
    const std::string& directory,
    const store::disk_bound& bound,
    wall_time seen) {
    store_view view;
    view.root = root.string();
    view.bytes = stored.bytes;
    view.bound = bound.max_disk;
    view.min_free = bound.min_free;
    view.free = stored.free_bytes;
    view.seen = seen;
    const auto successors = store::find_successors(stored);
    for (const auto& item : stored.items) {
        if (item.id.empty()) {
            continue;
        }
        ++view.snapshots;
        if (item.directory == directory) {
            view.of_model.push_back(describe(item, store::successor_of(item, successors)));
        }
    }
    std::sort(view.of_model.begin(), view.of_model.end(), [](const auto& a, const auto& b) {
        return std::tie(b.created, a.id) < std::tie(a.created, b.id);
    });
    return view;
}

} // namespace hibernate::admin

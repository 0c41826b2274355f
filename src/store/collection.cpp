#include "llama_hibernate/store/collection.hpp"

#include <fmt/core.h>

#include "llama_hibernate/store/eviction.hpp"
#include "llama_hibernate/store/inventory.hpp"
#include "victims.hpp"

namespace hibernate::store {

collection collect_garbage(
    disk& disk, const std::filesystem::path& root, std::uint64_t max_disk, bool dry_run) {
    const directory_locks locks(disk, root, take_inventory(disk, root), {});
    const auto stored = take_inventory(disk, root);
    eviction_question question;
    question.bound.max_disk = max_disk;
    question.closed_directories = locks.closed_directories(stored);
    question.missing_models = find_missing_models(disk, stored);
    const auto plan = plan_collection(stored, question);

    collection done;
    done.left_alone = question.closed_directories;
    for (const auto& [index, reason, kind] : plan.victims) {
        const auto& item = stored.items[index];
        auto what = describe_item(root, item);
        if (!dry_run) {
            if (const auto failed = remove_item(disk, root, item)) {
                done.problems.push_back(
                    fmt::format("{} cannot be removed: {}", what, failed.message()));
                continue;
            }
        }
        done.freed_bytes += item.bytes;
        done.removed.push_back({std::move(what), reason});
    }
    done.left_bytes = stored.bytes - done.freed_bytes;
    done.enough = done.left_bytes <= max_disk;
    return done;
}

} // namespace hibernate::store

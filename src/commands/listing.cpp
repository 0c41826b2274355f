#include "llama_hibernate/commands/listing.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/commands/selection.hpp"
#include "llama_hibernate/commands/table.hpp"
#include "llama_hibernate/store/directory_name.hpp"

namespace hibernate::commands {

using nlohmann::json;
using store::stored_item;
using kind = stored_item::kind;

namespace {

/// By model, and the latest first.
std::vector<const stored_item*> in_order(const store::inventory& stored) {
    auto items = select_all(stored);
    std::sort(items.begin(), items.end(), [](const auto* a, const auto* b) {
        const auto unknown = store::wall_time{};
        const auto a_saved = a->manifest ? a->manifest->created : unknown;
        const auto b_saved = b->manifest ? b->manifest->created : unknown;
        return std::tie(a->directory, b_saved, a->id) < std::tie(b->directory, a_saved, b->id);
    });
    return items;
}

/// The name of its file, after the name that the user gave it, if that is another one.
std::string name_of_model(const stored_item& item) {
    const auto& file = item.manifest->model_name;
    const auto given = store::name_in(item.directory);
    return given == store::name_in(store::directory_name(file, {}))
               ? file
               : fmt::format("{} ({})", given, file);
}

table_row row_of(const stored_item& item, const store::successors& known, store::wall_time now) {
    const auto state = describe_state(item, successor_of(item, known));
    if (!item.manifest) {
        return {item.id, item.directory, "-", format_bytes(item.bytes), "-", "-", "-", state};
    }
    const auto& saved = *item.manifest;
    return {
        item.id,
        name_of_model(item),
        std::to_string(saved.tokens),
        format_bytes(item.bytes),
        format_age(saved.created, now),
        std::to_string(saved.uses),
        std::to_string(saved.reused),
        state};
}

std::string
sum_up(const store::inventory& stored, const std::filesystem::path& root, std::uint64_t max_disk) {
    auto text = fmt::format(
        "{} in {}, {} of at most {}",
        format_count(select_all(stored).size(), "snapshot", "snapshots"), root.string(),
        format_bytes(stored.bytes), format_bytes(max_disk));
    if (const auto leftovers = amount_of(stored, kind::leftover); leftovers.count != 0) {
        text += fmt::format(
            "; {} ({}) of saves that were cut off or are under way",
            format_count(leftovers.count, "file", "files"), format_bytes(leftovers.bytes));
    }
    if (const auto foreign = amount_of(stored, kind::foreign); foreign.count != 0) {
        text += fmt::format(
            "; {} ({}) not ours", format_count(foreign.count, "file or folder", "files or folders"),
            format_bytes(foreign.bytes));
    }
    return text + "\n";
}

json describe(const store::amount& what) {
    return {{"count", what.count}, {"bytes", what.bytes}};
}

json describe(const stored_item& item, const store::successors& known) {
    const auto successor = successor_of(item, known);
    json object{{"id", item.id},           {"directory", item.directory},
                {"bytes", item.bytes},     {"state", store::name_of_state(item, successor)},
                {"problem", item.problem}, {"superseded_by", successor}};
    if (item.manifest) {
        const auto& saved = *item.manifest;
        object.update(
            {{"model", saved.model_name},
             {"model_path", saved.model_path},
             {"tokens", saved.tokens},
             {"created", store::format_time(saved.created)},
             {"last_used", store::format_time(saved.last_used)},
             {"uses", saved.uses},
             {"reused", saved.reused},
             {"missed", saved.missed},
             {"boundary_of", saved.boundary_of},
             {"pinned", saved.pinned},
             {"reason", saved.reason},
             {"slot", saved.slot},
             {"synced", saved.synced},
             {"checksum", saved.checksum},
             {"signature", saved.signature.parts}});
    }
    return object;
}

} // namespace

std::string list_as_table(
    const store::inventory& stored,
    const std::filesystem::path& root,
    std::uint64_t max_disk,
    store::wall_time now) {
    const auto known = find_successors(stored);
    std::vector<table_row> rows{
        {"ID", "MODEL", "TOKENS", "SIZE", "AGE", "USES", "REUSED", "STATE"}};
    for (const auto* item : in_order(stored)) {
        rows.push_back(row_of(*item, known, now));
    }
    constexpr std::size_t left_columns = 2;
    auto text = rows.size() > 1 ? lay_out(std::move(rows), left_columns) : std::string();
    return text + sum_up(stored, root, max_disk);
}

std::string list_as_json(
    const store::inventory& stored, const std::filesystem::path& root, std::uint64_t max_disk) {
    const auto known = find_successors(stored);
    json snapshots = json::array();
    for (const auto* item : in_order(stored)) {
        snapshots.push_back(describe(*item, known));
    }
    const json object{
        {"root", root.string()},
        {"bytes", stored.bytes},
        {"max_disk", max_disk},
        {"free_bytes", stored.free_bytes ? json(*stored.free_bytes) : json()},
        {"snapshots", std::move(snapshots)},
        {"leftovers", describe(amount_of(stored, kind::leftover))},
        {"foreign", describe(amount_of(stored, kind::foreign))}};
    constexpr int indent = 2;
    return object.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string describe_state(const stored_item& item, const std::string& superseded_by) {
    std::string text = store::name_of_state(item, superseded_by);
    if (item.manifest && !item.manifest->boundary_of.empty()) {
        text += ", prompt only";
    }
    if (item.manifest && item.manifest->pinned) {
        text += ", pinned";
    }
    return item.problem.empty() ? text : fmt::format("{}: {}", text, item.problem);
}

std::string format_age(store::wall_time then, store::wall_time now) {
    using namespace std::chrono;
    const auto age = std::max<milliseconds>(now - then, 0ms);
    if (age < 2min) {
        return fmt::format("{} s", duration_cast<seconds>(age).count());
    }
    if (age < 2h) {
        return fmt::format("{} min", duration_cast<minutes>(age).count());
    }
    if (age < days(2)) {
        return fmt::format("{} h", duration_cast<hours>(age).count());
    }
    return fmt::format("{} d", duration_cast<days>(age).count());
}

} // namespace hibernate::commands

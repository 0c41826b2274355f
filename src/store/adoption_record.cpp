#include "llama_hibernate/store/adoption_record.hpp"

#include <nlohmann/json.hpp>

#include "snapshot_files.hpp"

namespace hibernate::store {

using nlohmann::json;

namespace {

constexpr std::size_t max_file_bytes = std::size_t{1024} * 1024;

std::string text(const json& object, const char* name) {
    const auto field = object.value(name, json());
    return field.is_string() ? field.get<std::string>() : std::string();
}

} // namespace

adoption_record read_adoption_record(disk& disk, const std::filesystem::path& directory) {
    const auto content = disk.read(directory / adopted_name, 0, max_file_bytes);
    const auto object = content ? json::parse(*content, nullptr, false) : json();
    adoption_record found;
    if (!object.is_object()) {
        return found;
    }
    for (const auto& [path, each] : object.items()) {
        if (each.is_object()) {
            found[path] = {text(each, "version"), text(each, "signature"), text(each, "outcome")};
        }
    }
    return found;
}

error_code write_adoption_record(
    disk& disk, const std::filesystem::path& directory, const adoption_record& what) {
    json object = json::object();
    for (const auto& [path, each] : what) {
        object[path] = {
            {"version", each.version}, {"signature", each.signature}, {"outcome", each.outcome}};
    }
    // A name or an outcome may be no UTF-8.
    const auto content = object.dump(1, ' ', false, json::error_handler_t::replace);
    return disk.replace(directory / adopted_name, content + "\n", when_synced::later);
}

} // namespace hibernate::store

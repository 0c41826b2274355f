#include "llama_hibernate/app/adopting.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/llama/state_file.hpp"

namespace hibernate::app {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr int slot = 0;
constexpr auto call_limit = 2s;
/// For what must not be left half done, whatever the deadline.
constexpr auto least_patience = 10s;
const std::string no_time = "there was no time for it; the next start tries it again";
const std::string adopted = "adopted";

std::vector<llama::token> first_tokens(const llama::state_file_head& head, std::size_t count) {
    return {head.tokens.begin(), head.tokens.begin() + static_cast<std::ptrdiff_t>(count)};
}

void tell(const std::string& path, const std::string& why_not) {
    log::write(
        log::level::warning, fmt::format("{} is not adopted: {}", path, why_not),
        {{"file", path}, {"reason", why_not}});
}

} // namespace

file_adopter::file_adopter(
    llama::client& client,
    disk_thread& thread,
    disk& files,
    store::model_directory& directory,
    child_facts facts,
    std::uint64_t min_tokens,
    hooks told)
    : client_(client), thread_(thread), files_(files), directory_(directory),
      facts_(std::move(facts)),
      told_(std::move(told)), limits_{min_tokens, facts_.context_size, {}} {}

awaitable<adoption_report> file_adopter::run(fs::path folder, time_point deadline) {
    std::error_code ignored;
    const auto absolute = fs::absolute(folder, ignored);
    const auto list = [this, absolute] { return list_adoptable(files_, absolute); };
    const auto candidates = co_await thread_.run(list);
    if (!candidates) {
        log::warning(
            "nothing is adopted: {} cannot be read: {}", absolute.string(),
            candidates.error().message());
        co_return report_;
    }
    if (candidates->empty()) {
        log::info("nothing to adopt in {}", absolute.string());
        co_return report_;
    }
    const auto read_record = [this] {
        return store::read_adoption_record(files_, directory_.path());
    };
    record_ = co_await thread_.run(read_record);
    std::erase_if(record_, [&](const auto& noted) {
        return std::none_of(candidates->begin(), candidates->end(), [&](const auto& one) {
            return one.path == noted.first;
        });
    });
    const auto vocabulary = co_await client_.vocabulary_size(clock::now() + call_limit);
    if (vocabulary) {
        limits_.vocabulary_size = *vocabulary;
    }

    const auto signature = facts_.signature.hash();
    for (const auto& file : *candidates) {
        if (told_.abandoned() || report_.child != child_state::well) {
            break;
        }
        const auto noted = record_.find(file.path);
        if (noted != record_.end() && noted->second.version == file.version &&
            noted->second.signature == signature) {
            const auto& outcome = noted->second.outcome;
            log::info(
                "{} {}", file.path,
                outcome == adopted ? "was adopted before"
                                   : "is not adopted, as before: " + outcome);
            continue;
        }
        if (clock::now() >= deadline) {
            tell(file.path, no_time);
            continue;
        }
        const auto found = co_await adopt(file, deadline);
        if (told_.abandoned() || report_.child == child_state::gone) {
            break; // whoever sees why it died tells
        }
        if (!found.why_not.empty()) {
            tell(file.path, found.why_not);
        }
        if (found.why_not.empty() || found.for_good) {
            co_await note(file, found.why_not.empty() ? adopted : found.why_not);
        }
    }
    co_return report_;
}

awaitable<file_adopter::verdict> file_adopter::adopt(adoptable_file file, time_point deadline) {
    const auto uncheckable = keeper::why_uncheckable(facts_.memory);
    if (!uncheckable.empty()) {
        const verdict result{uncheckable, false};
        co_return result;
    }
    const auto look = [this, path = file.path] {
        return look_at(files_, directory_, facts_.signature, path);
    };
    const auto seen = co_await thread_.run(look);
    verdict result;
    result.why_not = seen.head ? keeper::why_unfit(*seen.head, limits_) : seen.problem;
    if (result.why_not.empty() && !seen.kept_in.empty()) {
        result.why_not =
            fmt::format("its conversation is in the store already (snapshot {})", seen.kept_in);
    }
    if (!result.why_not.empty() || told_.abandoned()) {
        co_return result;
    }

    result = co_await check(file, *seen.head, deadline);
    if (result.why_not.empty() && !told_.abandoned()) {
        result = co_await take(file, *seen.head, deadline);
    }
    if (!told_.abandoned() && report_.child == child_state::well) {
        co_await empty_slot();
    }
    // Of a child that is about to die it is to be known what it had last.
    if (!told_.abandoned() && report_.child != child_state::gone) {
        told_.offered({});
    }
    co_return result;
}

/// Whether the child would have made that state of these tokens.
awaitable<file_adopter::verdict> file_adopter::check(
    const adoptable_file& file, const llama::state_file_head& head, time_point deadline) {
    verdict result;
    const auto probe = first_tokens(head, keeper::probe_length(head.tokens.size()));
    const auto computed = co_await client_.look_ahead(slot, probe, false, deadline);
    if (!computed) {
        result = cannot_ask("does not compute its first tokens", computed.failure(), deadline);
        co_return result;
    }
    if (!length_) {
        result.why_not = co_await learn_length(probe, deadline);
        if (!result.why_not.empty()) {
            co_return result;
        }
    }
    const auto expected = length_->of(head.tokens.size());
    if (file.bytes - head.bytes != expected) {
        result = {
            fmt::format(
                "its state has {} bytes, and this llama-server's would have {}: it is cut off, or "
                "another model or other arguments made it",
                format_number(file.bytes - head.bytes), format_number(expected)),
            true};
        co_return result;
    }
    result = co_await bring(file, head, probe.size(), deadline);
    if (!result.why_not.empty() || told_.abandoned()) {
        co_return result;
    }
    const auto with_file = co_await client_.look_ahead(slot, probe, true, deadline);
    if (!with_file) {
        result = cannot_ask("does not go on with its state", with_file.failure(), deadline);
        co_return result;
    }
    log::debug(
        "{}: the logarithms of the probabilities differ by {:.4f}", file.path,
        keeper::log_difference(*computed, *with_file));
    result = {keeper::why_refused(*computed, *with_file, probe.size()), true};
    co_return result;
}

/// The whole of a file that was found to be the child's own.
awaitable<file_adopter::verdict> file_adopter::take(
    const adoptable_file& file, const llama::state_file_head& head, time_point deadline) {
    const auto tokens = head.tokens.size();
    auto result = co_await bring(file, head, tokens, deadline);
    if (!result.why_not.empty() || told_.abandoned()) {
        co_return result;
    }
    // All of its tokens have a place in the state, or this fails.
    const auto recomputed = co_await client_.cut_slot(slot, head.tokens, deadline);
    if (!recomputed) {
        result = cannot_ask("does not go on with all of it", recomputed.failure(), deadline);
        result.for_good = result.for_good || recomputed.failure().status != 0;
        co_return result;
    }
    if (*recomputed != 1) {
        result = {
            fmt::format(
                "llama-server computed {} of its {} tokens anew", *recomputed,
                format_number(tokens)),
            true};
        co_return result;
    }
    const keeper::slot_to_save whole{slot, tokens};
    const auto id = co_await told_.save(whole, deadline);
    if (!id) {
        result.why_not = clock::now() >= deadline ? no_time : "it could not be saved";
        co_return result;
    }
    ++report_.adopted;
    log::write(
        log::level::info,
        fmt::format("adopted {}: {} tokens (snapshot {})", file.path, format_number(tokens), *id),
        {{"file", file.path}, {"tokens", std::uint64_t{tokens}}, {"snapshot", *id}});
    co_return result;
}

/// From what the child writes itself. The slot holds the probe; empty, or a clause.
awaitable<std::string>
file_adopter::learn_length(std::vector<llama::token> probe, time_point deadline) {
    const auto longer = co_await save_sample(deadline);
    // More than half stays: of less llama-server would keep a copy.
    probe.resize(probe.size() - probe.size() / 4);
    const auto cut = co_await client_.cut_slot(slot, std::move(probe), deadline);
    if (longer && cut) {
        const auto shorter = co_await save_sample(deadline);
        if (shorter) {
            length_ = keeper::measure(*shorter, *longer);
        }
    }
    if (clock::now() >= deadline) {
        co_return no_time;
    }
    co_return length_ ? std::string()
                      : std::string("it cannot be told how long a state of this llama-server's is");
}

awaitable<std::optional<keeper::state_sample>> file_adopter::save_sample(time_point deadline) {
    const auto name = directory_.new_staging_name();
    const auto create = [this, name] { return directory_.create_staging(name); };
    const auto failed = co_await thread_.run(create);
    std::optional<keeper::state_sample> sample;
    if (failed) {
        co_return sample;
    }
    const auto saved = co_await client_.save_slot(slot, name, deadline);
    const auto read = [this, name] {
        auto reading = llama::read_state_file_head(files_, directory_.path() / name);
        directory_.discard_staging(name);
        return reading;
    };
    const auto reading = co_await thread_.run(read);
    if (saved && reading.head && reading.head->tokens.size() == saved->tokens) {
        sample = keeper::state_sample{saved->tokens, saved->bytes - reading.head->bytes};
    }
    co_return sample;
}

/// Restores a copy of the file, cut to its first so many tokens.
awaitable<file_adopter::verdict> file_adopter::bring(
    const adoptable_file& file,
    const llama::state_file_head& head,
    std::size_t tokens,
    time_point deadline) {
    verdict result;
    const auto name = directory_.new_staging_name();
    const auto copy = [this, name, path = fs::path(file.path), version = file.version,
                       bytes = file.bytes, start = llama::shortened(head, tokens),
                       offset = head.bytes, deadline, goes_on = told_.goes_on,
                       find_room = told_.find_room]() -> std::string {
        auto no_room = find_room(bytes);
        if (!no_room.empty()) {
            return no_room;
        }
        const auto watch = [&](std::uint64_t) { return goes_on() && clock::now() < deadline; };
        if (const auto failed = files_.copy(path, offset, directory_.path() / name, start, watch)) {
            return failed == boost::system::errc::operation_canceled
                       ? no_time
                       : fmt::format("it cannot be copied: {}", failed.message());
        }
        if (version_of(files_, path) != version) {
            directory_.discard_staging(name);
            return "somebody writes to it";
        }
        return {};
    };
    result.why_not = co_await thread_.run(copy);
    if (!result.why_not.empty()) {
        co_return result;
    }
    // One that does not come to an end would leave nothing but to start the child again.
    const auto limit = std::max(deadline, clock::now() + least_patience);
    std::optional<llama::call_result<llama::restored>> restored;
    if (!told_.abandoned()) {
        told_.offered(file.path);
        restored = co_await client_.restore_slot(slot, name, limit);
    }
    const auto discard = [this, name] {
        directory_.discard_staging(name);
        return true;
    };
    co_await thread_.run(discard);
    if (!restored) {
        co_return result;
    }
    if (!*restored) {
        const auto& failure = restored->failure();
        const bool too_slow = failure.status == 0 && clock::now() >= limit;
        restore_refused_ = failure.status == 400 || failure.status == 500;
        result = too_slow ? verdict{"llama-server does not restore it in time", false}
                          : cannot_ask("refuses it", failure, limit);
        result.for_good = too_slow || restore_refused_;
    } else if ((*restored)->tokens != tokens) {
        result = {
            fmt::format("llama-server restored {} tokens of {}", (*restored)->tokens, tokens),
            true};
    }
    co_return result;
}

/// Nothing of a file may stay in it that was not found to be the child's own, and what was is
/// restored with everything else.
awaitable<void> file_adopter::empty_slot() {
    const auto limit = clock::now() + least_patience;
    std::optional<llama::call_failure> failure;
    if (std::exchange(restore_refused_, false)) {
        const auto generated = co_await client_.generate_token(slot, limit);
        if (!generated) {
            failure = generated.failure();
        }
    }
    if (!failure) {
        const auto erased = co_await client_.erase_slot(slot, limit);
        if (!erased) {
            failure = erased.failure();
        }
    }
    if (failure && !told_.abandoned()) {
        log::warning("llama-server is not well after that: {}", failure->message);
        const bool died = failure->status == 0 && clock::now() < limit;
        report_.child = died ? child_state::gone : child_state::harmed;
    }
}

awaitable<void> file_adopter::note(const adoptable_file& file, std::string outcome) {
    record_[file.path] = {file.version, facts_.signature.hash(), std::move(outcome)};
    const auto write = [this, record = record_] {
        return store::write_adoption_record(files_, directory_.path(), record);
    };
    const auto failed = co_await thread_.run(write);
    if (failed) {
        log::debug("what came of {} was not noted: {}", file.path, failed.message());
    }
}

file_adopter::verdict file_adopter::cannot_ask(
    const char* what, const llama::call_failure& failure, time_point deadline) {
    if (failure.status == 0 && clock::now() >= deadline) {
        return {no_time, false};
    }
    if (failure.status == 0 && !told_.abandoned()) {
        report_.child = child_state::gone;
    }
    return {fmt::format("llama-server {}: {}", what, failure.message), false};
}

void note_fatal_file(
    disk& files,
    const fs::path& directory,
    const store::signature& signature,
    const std::string& file) {
    const std::string why = "llama-server died while it had it";
    tell(file, why);
    auto record = store::read_adoption_record(files, directory);
    record[file] = {version_of(files, file), signature.hash(), why};
    if (const auto failed = store::write_adoption_record(files, directory, record)) {
        log::warning("that {} is fatal was not noted: {}", file, failed.message());
    }
}

} // namespace hibernate::app

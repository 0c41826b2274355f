#pragma once
// The conversations of this daemon's model: its directory, what is restored from it into the child,
// and what is saved from the child into it. Without a directory that can be used everything here
// does nothing, and says so once: requests are served all the same.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "llama_hibernate/admin/overview.hpp"
#include "llama_hibernate/app/adopting.hpp"
#include "llama_hibernate/app/boundary_policy.hpp"
#include "llama_hibernate/app/child_facts.hpp"
#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/app/journal.hpp"
#include "llama_hibernate/app/live_saving.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/app/restoring.hpp"
#include "llama_hibernate/app/reuse_watch.hpp"
#include "llama_hibernate/app/saving.hpp"
#include "llama_hibernate/app/start_report.hpp"
#include "llama_hibernate/app/store_look.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/keeper/save_speed.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/room.hpp"
#include "llama_hibernate/store/stop_record.hpp"
#include "llama_hibernate/store/write_account.hpp"

namespace hibernate::app {

class keeping {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// options and args outlive it.
    keeping(
        boost::asio::io_context& context,
        const options& options,
        const llama::server_args& args,
        std::unique_ptr<disk> disk);

    /// Opens the model's directory; waits for another daemon that uses it, up to the restore
    /// budget. Throws startup_error when nothing says where it could be.
    awaitable<void> open();

    /// To be waited for before the child is started: notes which files it is going to load, and
    /// completes when nothing goes on in the background. The forked process allocates, which not
    /// every allocator bears while another thread does.
    awaitable<void> prepare();

    /// While the child loads, its snapshots are read and checked in the background.
    void read_ahead();

    /// For the child's --slot-save-path; empty when nothing is saved.
    std::string save_path() const;

    /// Learns what the child is, without which nothing can be saved later, and with extent::restore
    /// restores what is meant for it, within the restore budget. Before the first time what is to
    /// be adopted is; that may take as long again.
    enum class extent { restore, learn_only };
    struct restore_outcome {
        restore_summary summary;
        child_state child = child_state::well;
    };
    awaitable<restore_outcome> restore(
        std::shared_ptr<llama::client> client,
        extent what,
        std::function<void(std::size_t, std::size_t)> progress,
        std::function<bool()> abandoned);

    /// The child has crashed before it served: the snapshot that it was given last goes into
    /// quarantine. True if it was a file to be adopted instead, which is not tried again: then the
    /// child has nothing else against it.
    awaitable<bool> blame_last_restore();

    /// The child has crashed while it served: what was restored into it is suspect, and goes into
    /// quarantine when keeper::condemns says so.
    awaitable<void> suspect_restored(bool answered_anything);

    /// When requests are served: notes what was restored, does what the stop before had no time
    /// for, and saves slots from now on. Goes on in the background.
    void begin_serving(const std::shared_ptr<llama::client>& client);

    /// Around each request that a slot may work on: see live_saving.
    awaitable<void> before_request(std::string_view body_start);
    awaitable<void> before_other_request();
    void after_request(keeper::ended_request ended);

    /// Around each slot action of somebody else.
    awaitable<void> before_action(slot_action asked);
    void after_action(bool client_left);
    std::optional<int> slot_count() const; ///< nothing until the child was understood

    /// Saves every changed slot. Nothing of it is on the medium for sure before finish().
    awaitable<void> save(
        std::shared_ptr<llama::client> client,
        time_point deadline,
        std::function<void(std::size_t, std::size_t)> progress,
        std::function<bool()> abandoned);

    /// After a save that a second signal cut short: lets it note what it did, for a moment.
    awaitable<void> settle();

    /// The child has stopped as it should. Brings what was saved onto the medium, as far as it
    /// comes until the deadline.
    awaitable<void> finish(time_point deadline);

    /// What people may see of all that, as it was last learned: nobody is asked.
    void describe(admin::overview& into) const;
    admin::tallies& tallies() noexcept { return journal_.tallies(); }

    /// For what describe() tells of the store: looks at it in the background, or waits for that.
    void look_at_store();
    awaitable<void> refresh_look(std::chrono::milliseconds patience);

    /// Destroying this object would wait for a disk.
    bool disk_is_busy() const noexcept {
        return background_.busy() || disk_thread_.busy() || (look_ && look_->busy());
    }

    /// The child has died: what was known of it is void.
    void forget_child();

    /// Nothing that can wait is begun any more.
    void stop() {
        stopping_ = true;
        stop_reading_ = true;
    }

private:
    void tidy();
    awaitable<adoption_report>
    adopt(std::shared_ptr<llama::client> client, std::function<bool()> abandoned);
    awaitable<std::optional<std::string>> save_adopted(
        std::shared_ptr<llama::client> client,
        std::shared_ptr<std::set<std::string>> kept,
        keeper::slot_to_save slot,
        time_point limit);
    awaitable<void> restore_after_sleep(std::shared_ptr<llama::client> client);
    std::uint64_t preload_bytes() const;
    bool may_write();
    slot_saver make_saver(llama::client& client, slot_saver::history_of history);
    awaitable<std::optional<live_saving::saved_slot>>
    save_live(std::shared_ptr<llama::client> client, live_saving::due_save what);
    void note(const save_report& report);
    void begin_look_for_reuse();
    void remember_stop(const save_report& report, bool cut_short);

    // On either disk thread.
    void note_restored(const std::vector<std::string>& ids);
    void make_durable(const std::string& id);

    boost::asio::io_context& context_;
    const options& options_;
    const llama::server_args& args_;
    std::unique_ptr<disk> disk_;
    std::unique_ptr<store::model_directory> directory_; ///< none: nothing is kept
    std::unique_ptr<store::room_keeper> room_;          ///< where directory_ is
    std::unique_ptr<store::write_account> account_;     ///< likewise
    std::string not_saved_; ///< why nothing is kept, for people; empty: it is
    bool budget_told_ = false;
    bool unsupported_told_ = false;
    keeper::save_speed speed_;
    std::unique_ptr<live_saving> live_; ///< while the child serves
    std::optional<child_facts> facts_;  ///< none until the child was understood
    file_versions versions_;            ///< from before the child loaded
    std::vector<std::string> restored_ids_;
    std::set<std::string> in_use_; ///< restored into the child that runs
    reuse_watch reuse_;
    journal journal_;
    bool stop_is_noted_ = false;
    std::optional<store::stop_record> last_stop_; ///< of the daemon before us
    boundary_policy boundary_;
    /// The last one that was saved while serving: room for the next is not made from it. All others
    /// may go, the least recently used first; else a full store would keep its oldest for ever.
    std::set<std::string> just_saved_;
    std::vector<std::string> saved_ids_; ///< not durable yet
    std::string offered_id_;             ///< given to the child last, before it serves
    std::string offered_file_;           ///< likewise, of those that are to be adopted
    bool has_adopted_ = false;           ///< or has tried to
    std::atomic<bool> stopping_{false};
    std::atomic<bool> stop_reading_{false}; ///< of snapshots to check them
    bool quarantine_reported_ = false;      ///< used on the disk thread
    bool reuse_reported_ = false;           ///< used on the background thread
    std::unique_ptr<store_look> look_;      ///< where directory_ is
    // The last, so that they end first.
    disk_thread background_;  ///< for what may take its time
    disk_thread disk_thread_; ///< for what somebody waits for
};

} // namespace hibernate::app

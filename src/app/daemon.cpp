#include "llama_hibernate/app/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "llama_hibernate/app/overview.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/error.hpp"
#include "llama_hibernate/base/log.hpp"
#include "llama_hibernate/base/pause.hpp"
#include "llama_hibernate/base/size.hpp"
#include "llama_hibernate/process/descriptor_limit.hpp"
#include "llama_hibernate/proxy/target.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using keeper::event;
using std::chrono::milliseconds;

namespace {

constexpr auto bind_patience = 10s; // llama-swap's reload starts us while the old one still saves
constexpr auto bind_pause = 100ms;
// One stop often arrives twice at once: to the group, and passed on by a parent in that group. A
// second one that somebody meant comes later.
constexpr auto same_signal = 300ms;
constexpr auto health_pause = 25ms;
constexpr int most_launches = 5;      // each on another port, if others take them
constexpr auto death_patience = 2s;   // from a broken connection to the news of its end
constexpr auto call_limit = 2s;       // for a small question to a child that is there
constexpr auto longest_reserve = 1s;  // of the stop budget, for the child's own end
constexpr auto last_moment = 100ms;   // of the stop budget, for our own end
constexpr auto look_patience = 300ms; // of a client, for what the store holds now
constexpr std::uint16_t default_port = 8080;
constexpr int own_connections = 2; // of the child's threads, those that our own calls may take
constexpr std::size_t other_descriptors = 256; // besides those of clients and their requests

proxy::server_settings make_settings(const options& options, const llama::server_args& args) {
    proxy::server_settings settings;
    if (!args.hosts.empty()) {
        settings.hosts = args.hosts;
    }
    settings.port = static_cast<std::uint16_t>(args.port.value_or(default_port));
    settings.reuse_port = args.reuse_port;
    settings.tls_key_file = args.ssl_key_file;
    settings.tls_certificate_file = args.ssl_cert_file;
    settings.health_path = proxy::prefix_as_served(args.api_prefix) + "/health";
    settings.max_connections = options.max_connections;
    settings.on_half_close =
        options.half_close_keeps ? proxy::half_close::keep : proxy::half_close::abort;
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    const int spare_threads = args.connection_threads(processors) - own_connections;
    settings.kept_upstream = static_cast<std::size_t>(std::max(spare_threads, 0));
    return settings;
}

bool is_ignored(int signal) {
    struct sigaction present {};
    return sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

} // namespace

daemon::daemon(
    options options,
    llama::server_args args,
    llama::environment_map environment,
    std::string program,
    std::unique_ptr<disk> disk)
    : options_(std::move(options)), args_(std::move(args)), environment_(std::move(environment)),
      program_(std::move(program)), signals_(context_, SIGTERM, SIGINT),
      notifier_(context_, environment_), keeping_(context_, options_, args_, std::move(disk)),
      hooks_(
          args_.api_prefix,
          !args_.slot_save_path.empty(),
          {[this](std::string_view body_start) { return keeping_.before_request(body_start); },
           [this] { return keeping_.before_other_request(); },
           [this](keeper::ended_request ended) { keeping_.after_request(std::move(ended)); },
           [this] { return keeping_.slot_count(); },
           [this](slot_action asked) { return keeping_.before_action(asked); },
           [this](bool client_left) { keeping_.after_action(client_left); }}),
      own_paths_(
          hooks_,
          args_.api_prefix,
          args_.api_keys,
          {[this] { return look(); },
           [this] {
               return admin::traffic{server_.connections(), server_.exchanges_in_flight()};
           },
           [this] { return keeping_.refresh_look(look_patience); },
           [this] { keeping_.look_at_store(); }},
          keeping_.tallies()),
      gate_(context_, options_.health_hold),
      server_(context_, make_settings(options_, args_), gate_, own_paths_),
      child_(context_, options_, args_, environment_, program_),
      lifecycle_(
          options_.restart_on_exit ? keeper::exit_policy::restart : keeper::exit_policy::exit),
      started_(clock::now()), started_at_(store::wall_now()), state_since_(started_at_) {}

daemon::~daemon() = default;

int daemon::run() {
    std::signal(SIGPIPE, SIG_IGN);
    process::raise_descriptor_limit(2 * options_.max_connections + other_descriptors);
    std::signal(SIGCHLD, SIG_DFL); // ignored, as we may inherit it, it loses the child's status
    if (!is_ignored(SIGHUP)) {     // nohup wants it to stay so
        signals_.add(SIGHUP);
    }
    stop_signals_.let_through(); // even if whoever started us held them back
    spawn(watch_signals());
    spawn(start_up());
    context_.run();
    stop_signals_.hold_back();

    // Let what was cut off come to its end while everything that it uses is still there.
    server_.cut_connections();
    context_.restart();
    context_.poll();
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    if (keeping_.disk_is_busy()) {
        // A kill at any moment leaves everything whole on disk, and so does this.
        child_.clean_up();
        std::_Exit(lifecycle_.exit_status());
    }
    return lifecycle_.exit_status();
}

void daemon::spawn(awaitable<void> task) {
    asio::co_spawn(context_, std::move(task), [this](const std::exception_ptr& failure) {
        if (failure && !failure_) {
            failure_ = failure;
            leave();
        }
    });
}

void daemon::leave() {
    server_.close_listeners();
    context_.stop();
}

// ---------------------------------------------------------------------------------- start-up

awaitable<void> daemon::start_up() {
    co_await bind_listeners();
    co_await keeping_.open();
    life_begun_ = true;
    for (const auto what : lifecycle_.start()) {
        perform(what);
    }
}

awaitable<void> daemon::bind_listeners() {
    const auto deadline = clock::now() + bind_patience;
    bool told = false;
    for (;;) {
        const auto ec = server_.listen();
        if (!ec) {
            break;
        }
        if (ec != boost::system::errc::address_in_use || clock::now() >= deadline) {
            throw startup_error(fmt::format(
                "cannot listen on {} port {}: {}{}",
                args_.hosts.empty() ? "127.0.0.1" : fmt::format("{}", fmt::join(args_.hosts, ",")),
                args_.port.value_or(default_port), ec.message(),
                ec == boost::system::errc::address_in_use
                    ? "; end what listens there, or give another --port"
                    : ""));
        }
        if (!told) {
            log::info("the port is in use; trying for {}", format_duration(bind_patience));
            told = true;
        }
        co_await pause(bind_pause);
    }
    log::info("listening on {}", fmt::join(server_.urls(), " and "));
}

// ------------------------------------------------------------------------- events and actions

awaitable<void> daemon::watch_signals() {
    for (;;) {
        const int signal = co_await signals_.async_wait(use_awaitable);
        const bool nothing_to_stop = !life_begun_ || lifecycle_.phase() == keeper::phase::finished;
        if (nothing_to_stop) {
            leave();
            co_return;
        }
        const auto now = clock::now();
        keeping_.stop();
        if (!lifecycle_.stop_was_requested()) {
            first_stop_ = now;
            stop_deadline_ = now + options_.stop_budget;
        } else if (now - first_stop_ < same_signal) {
            continue;
        }
        const auto* what =
            lifecycle_.stop_was_requested() ? "stopping at once, saving no more" : "stopping";
        log::write(
            log::level::info, fmt::format("{}: signal {} ({})", what, signal, strsignal(signal)),
            {{"signal", signal}});
        dispatch({event::kind::stop_requested, 0, 0ms});
    }
}

void daemon::dispatch(const event& happened) {
    const auto before = lifecycle_.phase();
    const auto actions = lifecycle_.on(happened);
    if (lifecycle_.phase() != before) {
        state_since_ = store::wall_now();
        log::debug("{} -> {}", keeper::to_string(before), keeper::to_string(lifecycle_.phase()));
    }
    for (const auto what : actions) {
        perform(what);
    }
    notifier_.enter(lifecycle_, stop_deadline_);
}

void daemon::perform(keeper::action what) {
    switch (what) {
    case keeper::action::start_child:
        ++life_;
        abandon_ = false;
        keeping_.forget_child();
        return spawn(live_child());
    case keeper::action::start_child_later:
        return spawn(start_child_later());
    case keeper::action::restore:
        return spawn(restore(life_, keeping::extent::restore));
    case keeper::action::learn_child:
        return spawn(restore(life_, keeping::extent::learn_only));
    case keeper::action::open_gate:
        return gate_.open();
    case keeper::action::hold_gate:
        return gate_.hold("llama-server is started again");
    case keeper::action::close_gate:
        server_.close_listeners();
        return gate_.close("llama-hibernate is stopping");
    case keeper::action::drain:
        return spawn(drain());
    case keeper::action::cut_connections:
        return server_.cut_connections();
    case keeper::action::abandon_restore:
    case keeper::action::abandon_save:
        abandon_ = true;
        return;
    case keeper::action::save:
        return spawn(save());
    case keeper::action::interrupt_child:
        return spawn(interrupt_child());
    case keeper::action::kill_child:
        return child_.send(SIGKILL);
    case keeper::action::finish:
        return spawn(finish());
    }
}

admin::overview daemon::look() const {
    return gather_overview(
        {options_, child_, keeping_, keeper::to_string(lifecycle_.phase()), state_since_,
         started_at_});
}

// ----------------------------------------------------------------------------------- the child

awaitable<void> daemon::live_child() {
    auto life_started = clock::now();
    process::exit_report report;
    for (int launches = 1;; ++launches) {
        co_await keeping_.prepare();
        if (lifecycle_.phase() != keeper::phase::loading) {
            co_return; // a stop came first
        }
        life_started = clock::now();
        if (!launch_child()) {
            co_return;
        }
        report = co_await child_.wait();
        server_.forget_upstream();
        if (lifecycle_.phase() != keeper::phase::loading || !child_.lost_its_address(report)) {
            break;
        }
        if (launches == most_launches) {
            throw startup_error(fmt::format(
                "llama-server cannot be started: whatever port it is given, a process that it did "
                "not start listens there ({} was the last); --hibernate-internal unix needs none",
                child_.describe_address()));
        }
        log::warning(
            "another process listens on {}; llama-server is started again on another one",
            child_.describe_address());
        ++life_;
    }
    const auto phase_of_death = lifecycle_.phase();
    if (phase_of_death == keeper::phase::replacing) {
        log::info("llama-server is gone; it is started again, and nothing is restored into it");
    } else if (!lifecycle_.stop_was_requested()) {
        log::write(
            log::level::error, fmt::format("llama-server {}", report.describe()),
            {{"status", report.shell_status()}});
    }
    if (phase_of_death == keeper::phase::restoring && report.is_crash()) {
        abandon_ = true;
        const bool adopting = co_await keeping_.blame_last_restore();
        if (adopting) { // a file that is not ours to vouch for must not end the service
            log::info("llama-server is started again, and nothing is restored into it");
            dispatch({event::kind::child_harmed, 0, 0ms});
        }
    }
    if (phase_of_death == keeper::phase::ready && report.is_fault()) {
        co_await keeping_.suspect_restored(hooks_.answered_posts() != answered_before_);
    }
    const auto up_time = std::chrono::duration_cast<milliseconds>(clock::now() - life_started);
    dispatch({event::kind::child_exited, report.shell_status(), up_time});
}

/// False when it cannot be started, which was dispatched.
bool daemon::launch_child() {
    if (const auto why = child_.launch(keeping_.save_path()); why) {
        const auto status = process::launch_failure_status(why);
        if (life_ > 1) { // it could be started before: an upgrade may be under way
            log::error("cannot start {}: {}", program_, why.message());
            dispatch({event::kind::child_exited, status, 0ms});
            return false;
        }
        throw startup_error(fmt::format("cannot start {}: {}", program_, why.message()), status);
    }
    client_ = child_.make_client();
    log::info("started {}", child_.describe());
    spawn(watch_health(life_));
    keeping_.read_ahead();
    return true;
}

awaitable<void> daemon::watch_health(int life) {
    const auto client = client_;
    while (life == life_ && lifecycle_.phase() == keeper::phase::loading && child_.running()) {
        if (!child_.listens()) {
            co_await pause(health_pause);
            continue;
        }
        server_.set_upstream(child_.endpoint());
        const auto answer = co_await client->health(clock::now() + call_limit);
        if (answer && life == life_) {
            dispatch({event::kind::child_answers, 0, 0ms});
            co_return;
        }
        co_await pause(health_pause);
    }
}

awaitable<void> daemon::start_child_later() {
    started_ = clock::now();
    log::warning(
        "llama-server is started again in {}", format_duration(lifecycle_.restart_delay()));
    co_await pause(lifecycle_.restart_delay());
    dispatch({event::kind::restart_due, 0, 0ms});
}

awaitable<void> daemon::interrupt_child() {
    if (!child_.running()) { // the next one was not started yet
        dispatch({event::kind::child_exited, 0, 0ms});
        co_return;
    }
    child_.send(SIGINT);
    const auto grace = std::min<clock::duration>(
        lifecycle_.child_grace(), std::max<clock::duration>(stop_deadline_ - clock::now(), 0ms));
    co_await pause(std::chrono::duration_cast<milliseconds>(grace));
    if (child_.running()) {
        log::warning("llama-server does not stop by itself; killing it");
        child_.send(SIGKILL);
    }
}

// --------------------------------------------------------------------------------- the slots

awaitable<void> daemon::wait_for_death(int life) {
    const auto deadline = clock::now() + death_patience;
    while (life == life_ && child_.running() && clock::now() < deadline) {
        co_await pause(health_pause);
    }
}

awaitable<void> daemon::restore(int life, keeping::extent what) {
    const auto progress = [this](std::size_t step, std::size_t all) {
        const auto told = fmt::format("{} of {}", step, all);
        gate_.hold("restoring " + told);
        notifier_.detail(told);
    };
    const auto abandoned = [this, life] { return abandon_ || life != life_; };
    const auto outcome = co_await keeping_.restore(client_, what, progress, abandoned);
    if (outcome.child == child_state::gone) {
        co_await wait_for_death(life);
    }
    if (life != life_ || !child_.running()) {
        co_return;
    }
    if (outcome.child != child_state::well) {
        dispatch({event::kind::child_harmed, 0, 0ms});
        co_return;
    }
    notifier_.detail_of_next_phase(describe(outcome.summary));
    dispatch({event::kind::restore_ended, 0, 0ms});
    if (lifecycle_.phase() == keeper::phase::ready) {
        report_start(
            outcome.summary, std::chrono::duration_cast<milliseconds>(clock::now() - started_));
        answered_before_ = hooks_.answered_posts();
        keeping_.begin_serving(client_);
    }
}

daemon::clock::time_point daemon::save_deadline() const {
    const auto reserve = std::min<clock::duration>(longest_reserve, options_.stop_budget / 4);
    return stop_deadline_ - reserve;
}

awaitable<void> daemon::drain() {
    using namespace asio::experimental::awaitable_operators;
    const auto limit = std::min(options_.drain, options_.stop_budget);
    asio::steady_timer timer(context_, limit);
    if (server_.exchanges_in_flight() != 0) {
        log::info(
            "waiting up to {} for {} in flight", format_duration(limit),
            format_count(server_.exchanges_in_flight(), "request", "requests"));
        co_await (server_.drained() || timer.async_wait(use_awaitable));
    }
    dispatch({event::kind::drained, 0, 0ms});
}

awaitable<void> daemon::end_open_streams(clock::time_point deadline) {
    const auto client = client_;
    for (const auto& id : hooks_.take_open_streams()) {
        const auto limit = std::min(deadline, clock::now() + call_limit);
        const auto ended = co_await client->delete_stream(id, limit);
        if (!ended && ended.failure().status != 404) {
            log::debug("ending an open stream: {}", ended.failure().message);
        }
    }
}

awaitable<void> daemon::save() {
    const auto deadline = save_deadline();
    co_await end_open_streams(deadline);
    const auto abandoned = [this] { return abandon_; };
    const auto progress = [this](std::size_t step, std::size_t all) {
        notifier_.detail(fmt::format("{} of {}", step, all));
    };
    save_begun_ = true;
    co_await keeping_.save(client_, deadline, progress, abandoned);
    dispatch({event::kind::save_ended, 0, 0ms});
}

awaitable<void> daemon::finish() {
    // The child is gone and its memory free, so nobody waits for it; what is left of the budget
    // goes into bringing the new snapshots onto the medium.
    if (lifecycle_.stop_was_requested()) {
        if (!abandon_) {
            co_await keeping_.finish(stop_deadline_ - last_moment);
        } else if (save_begun_) {
            co_await keeping_.settle();
        }
    }
    leave();
}

} // namespace hibernate::app

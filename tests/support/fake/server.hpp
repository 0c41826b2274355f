#pragma once
// The scripted llama-server: listens, loads, answers, and ends as the real one does.

#include <chrono>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "connection.hpp"
#include "settings.hpp"
#include "slot_table.hpp"

namespace fake {

class server {
public:
    server(asio::io_context& context, settings settings);

    /// Throws std::runtime_error when it cannot listen.
    void start();

    int exit_status() const noexcept { return exit_status_; }

private:
    using acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol, executor>;
    struct waiter;
    struct generation;

    // server.cpp: life and connections
    void listen(const std::string& host);
    asio::awaitable<void> accept(acceptor& listener);
    asio::awaitable<void> serve(std::shared_ptr<connection> client);
    asio::awaitable<void> load();
    asio::awaitable<void> watch_signals();
    asio::awaitable<void> finish();
    void log_request(const std::string& event, const connection& client);
    void log_event(const std::string& name, int number);
    void say(const std::string& line);
    void crash_if(const std::string& point);

    // routes.cpp: one handler for each endpoint
    asio::awaitable<void> answer(connection& client);
    asio::awaitable<void> answer_loaded(connection& client, std::string path);
    bool authorized(const connection& client, const std::string& path) const;
    std::string properties_body();
    std::string models_body();
    std::string slots_body();
    asio::awaitable<void> slot_action(connection& client, std::string path);
    asio::awaitable<void> save(connection& client, long id, std::string file_name);
    asio::awaitable<void> restore(connection& client, long id, std::string file_name);
    void note_activity();
    bool asleep();

    // completions.cpp: tasks
    asio::awaitable<void> complete(connection& client, std::string path);
    asio::awaitable<void> generate(connection& client, generation& work);
    asio::awaitable<bool> acquire(connection& client, waiter& wanted);
    asio::awaitable<void> loop_turn();
    void release(std::size_t slot);
    bool satisfiable(const waiter& wanted);
    void grant(waiter& wanted);
    /// Waits while nothing says to give up. False: the client left, or the server stops.
    asio::awaitable<bool> pause(connection& client, generation& work, milliseconds time);
    asio::awaitable<void> wait_for_client_to_go(connection& client);

    asio::io_context& context_;
    settings settings_;
    slot_table slots_;
    std::ofstream log_;
    std::vector<std::unique_ptr<acceptor>> listeners_;
    std::vector<std::weak_ptr<connection>> connections_;
    asio::signal_set signals_;
    std::chrono::steady_clock::time_point last_activity_ = std::chrono::steady_clock::now();
    bool loaded_ = false;
    bool stopping_ = false;
    bool harmed_ = false; ///< a restore was refused, and the script says that this matters
    bool asleep_ = false;
    bool loop_blocked_ = false; ///< a slot action holds up everything in the main loop
    int open_requests_ = 0;
    int exit_status_ = 0;
    std::deque<waiter*> waiters_;
    /// Resumable streams by conversation id, for as long as they generate; a set flag ends one.
    std::map<std::string, std::shared_ptr<bool>> streams_;
};

} // namespace fake

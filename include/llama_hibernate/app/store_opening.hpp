#pragma once
// Finds and opens the model's folder in the store.

#include <memory>
#include <string>

#include "llama_hibernate/app/disk_thread.hpp"
#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/base/disk.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/store/model_directory.hpp"
#include "llama_hibernate/store/room.hpp"
#include "llama_hibernate/store/write_account.hpp"

namespace hibernate::app {

/// All of it, or nothing: then nothing is kept, and a log line says why.
struct opened_store {
    std::unique_ptr<store::model_directory> directory;
    std::unique_ptr<store::room_keeper> room;
    std::unique_ptr<store::write_account> account;
    std::string not_saved; ///< that line; empty if all is there
};

/// Gives the user's arguments their advice first. Waits for another daemon that uses the folder, up
/// to the restore budget. Throws startup_error when nothing says where it could be. All of the
/// parameters outlive what it returns.
awaitable<opened_store>
open_store(disk& disk, disk_thread& thread, const options& options, const llama::server_args& args);

} // namespace hibernate::app

#pragma once
// The llama-server that is our child, and where it listens for us alone. Nothing is sent there
// before it was seen that the child has the address: another process may take a port before it.

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/base/awaitable.hpp"
#include "llama_hibernate/llama/client.hpp"
#include "llama_hibernate/llama/server_args.hpp"
#include "llama_hibernate/process/child.hpp"
#include "llama_hibernate/process/internal_address.hpp"

namespace hibernate::app {

class server_process {
public:
    /// program is llama-server's path; args and environment outlive it.
    server_process(
        boost::asio::io_context& context,
        const options& options,
        const llama::server_args& args,
        const llama::environment_map& environment,
        std::string program);

    /// Starts one, on another port than the last, or says why the system refused. The one before
    /// has ended. Throws startup_error where there is no address for it.
    boost::system::error_code launch(const std::string& slot_save_path);

    bool running() const noexcept { return child_ && child_->running(); }
    int pid() const noexcept { return child_ ? child_->pid() : -1; }
    void send(int signal) noexcept;

    /// Completes when it has ended; see process::child::wait().
    awaitable<process::exit_report> wait() { return child_->wait(); }

    /// Looks whether it listens; as soon as it did so, without looking. If it is somebody else who
    /// does, the child is killed: it cannot listen there any more.
    bool listens();

    /// Of one that has ended, by itself or killed by listens(): somebody else had its address, and
    /// one on another port may do better.
    bool lost_its_address(const process::exit_report& report) const;

    const boost::asio::generic::stream_protocol::endpoint& endpoint() const noexcept {
        return address_.endpoint();
    }
    std::string describe_address() const { return address_.describe(); }
    /// "127.0.0.1:43210", or the path of its socket.
    std::string describe_endpoint() const;
    std::string describe() const; ///< program, process and address

    /// For calls to the one that runs.
    std::shared_ptr<llama::client> make_client() const;

    /// Where destructors do not run.
    void clean_up() noexcept { address_.remove(); }

private:
    boost::asio::io_context& context_;
    const llama::server_args& args_;
    const llama::environment_map& environment_;
    std::string program_;
    process::internal_address address_;
    std::optional<process::child> child_;
    /// Who was seen at the address.
    process::port_owner seen_ = process::port_owner::nobody;
};

} // namespace hibernate::app

#include "llama_hibernate/app/server_process.hpp"

#include <csignal>

#include <fmt/core.h>

#include "llama_hibernate/base/error.hpp"

namespace hibernate::app {

namespace asio = boost::asio;
using process::port_owner;

namespace {

process::internal_address make_address(
    asio::io_context& context, const options& options, const llama::environment_map& environment) {
    if (!options.internal_socket) {
        return process::internal_address(context);
    }
    const auto variable = [&environment](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
    return process::internal_address(
        context,
        process::socket_places(variable("RUNTIME_DIRECTORY"), variable("XDG_RUNTIME_DIR")));
}

} // namespace

server_process::server_process(
    asio::io_context& context,
    const options& options,
    const llama::server_args& args,
    const llama::environment_map& environment,
    std::string program)
    : context_(context), args_(args), environment_(environment), program_(std::move(program)),
      address_(make_address(context, options, environment)) {}

boost::system::error_code server_process::launch(const std::string& slot_save_path) {
    if (const auto why = address_.renew(); why) {
        throw startup_error(fmt::format("there is no address for llama-server: {}", why.message()));
    }
    process::command command;
    command.executable = program_;
    command.arguments =
        llama::child_arguments(args_, address_.host(), address_.port(), slot_save_path);
    command.environment = llama::child_environment(environment_);
    auto launched = process::child::launch(context_, command);
    if (!launched) {
        return launched.error();
    }
    child_.emplace(std::move(*launched));
    seen_ = port_owner::nobody;
    return {};
}

void server_process::send(int signal) noexcept {
    if (child_) {
        child_->send(signal);
    }
}

bool server_process::listens() {
    if (seen_ == port_owner::nobody) {
        seen_ = address_.look(child_->pid());
        if (seen_ == port_owner::stranger) {
            child_->send(SIGKILL);
        }
    }
    return seen_ == port_owner::child || seen_ == port_owner::unknown;
}

bool server_process::lost_its_address(const process::exit_report& report) const {
    // A child that ends while we look whose socket it is has no socket any more: what was seen then
    // is no stranger, unless it is still there.
    const bool was_killed = seen_ == port_owner::stranger && report.signal == SIGKILL;
    // Where the system does not tell who listens, one that listened has left the port free.
    return was_killed || (seen_ != port_owner::child && address_.is_taken());
}

std::string server_process::describe_endpoint() const {
    return address_.port() == 0 ? address_.host()
                                : fmt::format("{}:{}", address_.host(), address_.port());
}

std::string server_process::describe() const {
    return fmt::format("{} (process {}, {})", program_, child_->pid(), address_.describe());
}

std::shared_ptr<llama::client> server_process::make_client() const {
    return std::make_shared<llama::client>(
        context_, address_.endpoint(),
        args_.api_keys.empty() ? std::string() : args_.api_keys.front(), args_.api_prefix);
}

} // namespace hibernate::app

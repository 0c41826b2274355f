#include "llama_hibernate/process/stop_signals.hpp"

#include <csignal>
#include <initializer_list>

namespace hibernate::process {

stop_signals::stop_signals() {
    hold_back();
}

void stop_signals::hold_back() {
    change_mask(SIG_BLOCK);
}

void stop_signals::let_through() {
    change_mask(SIG_UNBLOCK);
}

void stop_signals::change_mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&set, signal);
    }
    pthread_sigmask(how, &set, nullptr);
}

} // namespace hibernate::process

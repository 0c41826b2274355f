#pragma once
// What the log says of a stop, and the next start knows of it: what was saved, what was not, and
// what would have helped.

#include "llama_hibernate/app/options.hpp"
#include "llama_hibernate/app/saving.hpp"
#include "llama_hibernate/store/stop_record.hpp"

namespace hibernate::app {

/// cut_short: a second signal skipped the rest.
void report_stop(const save_report& report, const options& options, bool cut_short);
store::stop_record record_stop(const save_report& report, store::wall_time now, bool cut_short);

} // namespace hibernate::app

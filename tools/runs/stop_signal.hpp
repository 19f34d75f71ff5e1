// SIGINT and SIGTERM request an orderly end; a second signal, or 15 minutes without that end, stops the process at
// once.
#pragma once

#include <atomic>
#include <csignal>

namespace furlong::tools {

/// Printed at the first signal.
constexpr auto stops_after_round =
    "\nfurlong: stopping once the round under way is done; another Ctrl-C stops at once\n";
constexpr auto stops_after_work = "\nfurlong: stopping once the work under way is done; another Ctrl-C stops at once\n";

/// The signal of the end of a parent process (PR_SET_PDEATHSIG). It requests an orderly end too. The kernel sends it
/// once for each thread of the parent that hands its children on (man 2 prctl), so more of it never stop at once.
constexpr int parent_ended = SIGUSR1;

/// Until watch_for_stop(): at a signal the process ends at once, with the exit code of an interrupted run.
void stop_before_work();
/// Catches the signals from now on; at the first one prints `text`, which must remain valid, to stderr.
void watch_for_stop(const char* text);
/// Set after the first signal.
[[nodiscard]] const std::atomic<bool>& stop_requested();

}  // namespace furlong::tools

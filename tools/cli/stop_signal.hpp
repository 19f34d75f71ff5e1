// SIGINT and SIGTERM request an orderly end; a second signal, or 15 minutes without that end, stops the process at
// once.
#pragma once

#include <atomic>

namespace furlong::tools {

/// Printed at the first signal.
constexpr auto stops_after_round =
    "\nfurlong: stopping once the round under way is done; another Ctrl-C stops at once\n";
constexpr auto stops_after_work = "\nfurlong: stopping once the work under way is done; another Ctrl-C stops at once\n";

/// Catches the signals from now on; at the first one prints `text`, which must remain valid, to stderr.
void watch_for_stop(const char* text);
/// Set after the first signal.
[[nodiscard]] const std::atomic<bool>& stop_requested();

}  // namespace furlong::tools

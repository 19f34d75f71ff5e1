// SIGINT and SIGTERM ask for an orderly end; a second one, or 15 minutes without that end, stop the process at once.
#pragma once

#include <atomic>

namespace furlong::tools {

/// Said at the first signal.
constexpr auto stops_after_round =
    "\nfurlong: stopping once the round under way is done; another Ctrl-C stops at once\n";
constexpr auto stops_after_work = "\nfurlong: stopping once the work under way is done; another Ctrl-C stops at once\n";

/// Catches the signals from now on; at the first one writes `told`, which must live on, to stderr.
void watch_for_stop(const char* told);
/// Set when one came.
[[nodiscard]] const std::atomic<bool>& stop_requested();

}  // namespace furlong::tools

// SIGINT and SIGTERM ask for an orderly end; a second one ends the process at once.
#pragma once

#include <atomic>

namespace furlong::tools {

/// Catches the signals from now on.
void watch_for_stop();
/// Set when one came.
[[nodiscard]] const std::atomic<bool>& stop_requested();

}  // namespace furlong::tools

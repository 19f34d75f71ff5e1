#include "tools/stop_signal.hpp"

#include <csignal>

namespace furlong::tools {

namespace {

std::atomic<bool> requested{false};

void on_signal(int number) {
  requested = true;
  std::signal(number, SIG_DFL);
}

}  // namespace

void watch_for_stop() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace furlong::tools

#include "tools/stop_signal.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace furlong::tools {

namespace {

// A handler may look only at what is lock-free.
std::atomic<const char*> notice{nullptr};
std::atomic<bool> requested{false};

void on_signal(int number) {
  const int before = errno;
  requested = true;
  std::signal(number, SIG_DFL);
  const char* text = notice;
  [[maybe_unused]] const auto told = ::write(STDERR_FILENO, text, std::strlen(text));
  errno = before;
}

}  // namespace

void watch_for_stop(const char* told) {
  notice = told;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace furlong::tools

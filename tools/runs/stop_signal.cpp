#include "tools/runs/stop_signal.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <unistd.h>

#include "tools/runs/failure.hpp"

namespace furlong::tools {

namespace {

// A signal handler may access only lock-free objects.
std::atomic<const char*> notice{nullptr};
std::atomic<bool> requested{false};

/// Seconds from the first signal to a forced exit: longer than a node's default timeout.
constexpr unsigned patience = 15 * 60;

void give_up(int /*signal*/) {
  constexpr std::string_view text = "furlong: the work under way did not end: stopping at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(interrupted);
}

void on_signal(int number) {
  const int before = errno;
  requested = true;
  if (number != parent_ended) std::signal(number, SIG_DFL);
  std::signal(SIGALRM, give_up);
  ::alarm(patience);
  const char* text = notice;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  errno = before;
}

void leave_before_work(int /*signal*/) {
  constexpr std::string_view text = "\nfurlong: stopped before the run began; nothing was written\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(interrupted);
}

}  // namespace

void stop_before_work() {
  for (const int number : {SIGINT, SIGTERM, parent_ended}) std::signal(number, leave_before_work);
}

void watch_for_stop(const char* text) {
  notice = text;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(parent_ended, on_signal);
}

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace furlong::tools

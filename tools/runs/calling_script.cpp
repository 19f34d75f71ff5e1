#include "tools/runs/calling_script.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

#include "scenarios/python/trainer_setup.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

int lines_to = -1;

bool stopping = false;

/// Answers to a line; any other: go on.
constexpr char stop = 's';
constexpr char no_more = 'n';

/// A descriptor that the script names, for this process alone; -1: none.
int take_descriptor(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return -1;
  const int descriptor = static_cast<int>(std::strtol(text, nullptr, 10));
  ::unsetenv(variable);
  return ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? descriptor : -1;
}

/// False: the script has ended.
bool send(std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::write(lines_to, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive(char& answer) {
  for (;;) {
    const auto got = ::read(lines_to, &answer, 1);
    if (got < 0 && errno == EINTR) continue;
    return got == 1;
  }
}

}  // namespace

void attach_to_script() {
  constexpr const char* name = "FURLONG_PARENT";
  const char* const text = std::getenv(name);
  if (text == nullptr) return;
  const auto script = static_cast<pid_t>(std::strtol(text, nullptr, 10));
  ::unsetenv(name);  // children have another parent
  lines_to = take_descriptor("FURLONG_LINES");
  scenarios::set_calling_trainer(take_descriptor("FURLONG_CALLER"));
  if (::getppid() == script) ::prctl(PR_SET_PDEATHSIG, parent_ended);
  std::signal(SIGPIPE, SIG_IGN);  // the script reads its output, and there must be time for a checkpoint
  if (script > 0 && ::kill(script, 0) != 0 && errno == ESRCH) ::raise(SIGTERM);  // it has ended before
}

void tell_script(const json& line) {
  if (lines_to < 0) return;
  const auto text = line.dump() + "\n";
  char answer = no_more;
  const bool heard = send(text) && receive(answer);
  if (heard && answer == stop && !stopping) {
    stopping = true;  // a second signal would end the command at once
    ::raise(SIGINT);
  }
  if (heard && answer != no_more) return;
  ::close(lines_to);
  lines_to = -1;
}

}  // namespace furlong::tools

#include "tools/runs/child_runs.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

using steady = std::chrono::steady_clock;

/// Blocks the signals that sigwait() receives, while it exists.
class held_signals {
 public:
  held_signals() {
    sigemptyset(&held_);
    for (const int number : {SIGINT, SIGTERM, parent_ended, SIGCHLD}) sigaddset(&held_, number);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~held_signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  held_signals(const held_signals&) = delete;
  held_signals& operator=(const held_signals&) = delete;

  /// The next blocked signal.
  [[nodiscard]] int wait() const {
    int number = 0;
    sigwait(&held_, &number);
    return number;
  }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t held_{};
  sigset_t before_{};
};

/// Opens the files before the fork, so that the parent reports a failure.
result<int> open_output(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    return fail(error::kind::runtime, file.string(), std::string("cannot be opened: ") + std::strerror(errno),
                "check the folder's permissions and free space");
  return fd;
}

/// In the child: only system calls until exec.
[[noreturn]] void become(char* const* argv, int out, int err, pid_t parent, const sigset_t& signals) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, parent_ended);
  if (::getppid() != parent) ::_exit(127);  // the parent ended before the child could watch it
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execv("/proc/self/exe", argv);
  ::_exit(127);
}

result<pid_t> start(const child_run& run, const sigset_t& signals) {
  const auto out = open_output(run.out);
  if (!out) return tl::unexpected(out.error());
  const auto err = open_output(run.err);
  if (!err) {
    ::close(*out);
    return tl::unexpected(err.error());
  }
  ::flock(*err, LOCK_EX | LOCK_NB);  // inherited by the child, which holds it until it ends: see wait_for_earlier()
  std::string name = "furlong";
  std::vector<std::string> words = run.arguments;
  std::vector<char*> argv = {name.data()};
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid == 0) become(argv.data(), *out, *err, parent, signals);
  const int why = errno;
  ::close(*out);
  ::close(*err);
  if (pid < 0) return fail(error::kind::runtime, "fork", std::strerror(why), "run fewer at once with --jobs");
  return pid;
}

struct working {
  std::size_t index;
  steady::time_point since;
};

/// Reaps every child that has ended.
void reap(std::map<pid_t, working>& at_work, const std::function<void(std::size_t, const child_end&)>& ended) {
  for (auto position = at_work.begin(); position != at_work.end();) {
    int status = 0;
    if (::waitpid(position->first, &status, WNOHANG) != position->first) {
      ++position;
      continue;
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const auto done = position->second;
    position = at_work.erase(position);
    ended(done.index, {code, std::chrono::duration<double>(steady::now() - done.since).count()});
  }
}

}  // namespace

result<bool> run_children(std::span<const child_run> runs, std::size_t at_once,
                          const std::function<void(std::size_t, const child_end&)>& ended) {
  const held_signals signals;
  std::map<pid_t, working> at_work;
  std::size_t next = 0;
  bool stopping = false;
  result<void> started;
  for (;;) {
    while (started && !stopping && next < runs.size() && at_work.size() < at_once) {
      auto pid = start(runs[next], signals.before());
      if (pid)
        at_work.emplace(*pid, working{next++, steady::now()});
      else
        started = tl::unexpected(pid.error());
    }
    if (at_work.empty()) break;
    const int number = signals.wait();
    if (number != SIGCHLD) {
      stopping = true;
      for (const auto& child : at_work) ::kill(child.first, number);
    }
    reap(at_work, ended);
  }
  if (!started) return tl::unexpected(started.error());
  return !stopping;
}

void wait_for_earlier(const std::filesystem::path& err, const std::function<void()>& on_wait) {
  const int fd = ::open(err.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    on_wait();
    while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ::close(fd);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}

nlohmann::ordered_json read_object(const std::filesystem::path& file) {
  auto read = nlohmann::ordered_json::parse(text_of(file), nullptr, false);
  return read.is_object() ? read : nlohmann::ordered_json();
}

std::size_t or_one_per_core(std::size_t given) {
  return given > 0 ? given : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace furlong::tools

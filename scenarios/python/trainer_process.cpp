#include "scenarios/python/trainer_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/work_scope.hpp"

namespace furlong::scenarios {

namespace {

constexpr int control_descriptor = 3;
constexpr int memory_descriptor = 4;
constexpr std::size_t header_bytes = 8;
constexpr std::uint32_t longest_answer = 1U << 30U;
constexpr std::chrono::seconds time_to_explain{2};
constexpr std::chrono::seconds time_to_end{5};

/// How long a thread stays on a processor with its trainer before the scheduler may choose another one.
constexpr std::chrono::milliseconds time_on_processor{100};

/// A thread that runs on one processor alone.
struct binding {
  int processor = -1;  ///< -1: on any
  cpu_set_t before;
  std::chrono::steady_clock::time_point since;
};
thread_local binding bound;

void unbind() {
  if (bound.processor < 0) return;
  sched_setaffinity(0, sizeof bound.before, &bound.before);
  bound.processor = -1;
}

/// Best effort: elsewhere a thread is only slower.
void run_on(pid_t thread, int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  sched_setaffinity(thread, sizeof only, &only);
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const auto name = variable.substr(0, variable.find('='));
    if (std::ranges::none_of(added, [&](const auto& own) { return own.first == name; }))
      variables.emplace_back(variable);
  }
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string end_text(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "status " + std::to_string(WEXITSTATUS(status));
}

/// Waits until a child has ended, and leaves its end to be read.
void await_end(pid_t child, std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds pause{10};
  for (auto waited = pause; waited <= limit; waited += pause) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) return;
    std::this_thread::sleep_for(pause);
  }
}

/// Sends two descriptors to another process. Returns errno, 0: sent.
int give(int socket, int first, int second) {
  char text = 0;
  iovec part{&text, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  auto* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array both{first, second};
  std::memcpy(CMSG_DATA(head), both.data(), sizeof both);
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// A copy whose number is none of the trainer's: those are made from it without overwriting each other.
int above_standard(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
  close(descriptor);
  return copy;
}

}  // namespace

result<void> trainer_process::connect() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(error::kind::runtime, "trainer", std::string("cannot open a socket: ") + std::strerror(errno));
  const int code = give(command_.caller, ends[1], command_.memory);
  close(ends[1]);
  if (code != 0) {
    close(ends[0]);
    return fail(error::kind::runtime, "python.problem", "the script that is the trainer has ended",
                "continue with --resume");
  }
  socket_ = ends[0];
  limit_ = {};
  return {};
}

result<void> trainer_process::start() {
  if (command_.caller >= 0) return connect();
  const auto refuse = [&](const char* step, int code) {
    return fail(error::kind::runtime, "trainer", std::string(step) + ": " + std::strerror(code));
  };
  int ends[2];
  int pipe_ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return refuse("cannot open a socket", errno);
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    const int code = errno;
    close(ends[0]);
    close(ends[1]);
    return refuse("cannot open a pipe", code);
  }
  const int control = above_standard(ends[1]);
  const int memory = fcntl(command_.memory, F_DUPFD_CLOEXEC, 10);
  const int output = above_standard(pipe_ends[1]);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, control, control_descriptor);
  posix_spawn_file_actions_adddup2(&files, memory, memory_descriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t until_handled;  // an interpreter that starts would die of the signal that asks where a step hangs
  sigemptyset(&until_handled);
  sigaddset(&until_handled, SIGUSR1);
  sigset_t defaults;
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &until_handled);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);  // a Ctrl-C of the terminal is for furlong, which ends its trainers
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto arguments = command_.arguments;
  auto variables = environment_with(command_.variables);
  const int code = posix_spawnp(&pid_, arguments.front().c_str(), &files, &attributes, pointers_to(arguments).data(),
                                pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  for (const int descriptor : {control, memory, output}) close(descriptor);
  if (code != 0) {
    pid_ = 0;
    close(ends[0]);
    close(pipe_ends[0]);
    return fail(error::kind::usage, "python.interpreter",
                "cannot start " + arguments.front() + ": " + std::strerror(code),
                "name an interpreter that exists, or remove the key");
  }
  socket_ = ends[0];
  limit_ = {};
  processor_ = bound.processor;  // inherited
  output_ = std::make_unique<trainer_output>(number_, pipe_ends[0], allowance_);
  return {};
}

void trainer_process::end() {
  if (socket_ < 0) return;
  close(socket_);
  socket_ = -1;
  if (pid_ == 0) {
    last_end_ = "the end of its connection";
    return;
  }
  if (command_.ends_itself) await_end(pid_, time_to_end);
  killpg(pid_, SIGKILL);
  kill(pid_, SIGKILL);  // it may not have made its group yet
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  last_end_ = end_text(status);
  pid_ = 0;
  last_line_ = output_->close();
  last_place_ = output_->place();
  output_.reset();
}

bool trainer_process::send(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

trainer_process::outcome trainer_process::receive(std::span<std::byte> target, std::chrono::milliseconds limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!target.empty()) {
    const auto got = recv(socket_, target.data(), target.size(), 0);
    if (got > 0) {
      target = target.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return outcome::died;
    } else if (std::chrono::steady_clock::now() >= until) {
      return outcome::timed_out;
    }
  }
  return outcome::answered;
}

void trainer_process::set_limit(std::chrono::milliseconds limit) {
  if (limit == limit_) return;
  limit_ = limit;
  const timeval time{limit.count() / 1000, (limit.count() % 1000) * 1000};
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO}) setsockopt(socket_, SOL_SOCKET, direction, &time, sizeof time);
}

trainer_process::outcome trainer_process::exchange(message_kind kind, std::span<std::byte> request,
                                                   std::chrono::milliseconds limit) {
  const auto give_up = [&](outcome why) {
    // A process that ended by itself says how; one that hangs would never end.
    if (why == outcome::died && pid_ > 0) await_end(pid_, std::chrono::seconds(1));
    end();
    return why;
  };
  const std::uint32_t header[2] = {static_cast<std::uint32_t>(request.size() - 4), static_cast<std::uint32_t>(kind)};
  std::memcpy(request.data(), header, header_bytes);
  set_limit(limit);
  if (!send(request)) return give_up(outcome::died);
  // Most answers are short: one call gets them whole.
  std::byte first[64];
  std::size_t have = 0;
  auto until = std::chrono::steady_clock::now() + limit;
  bool interrupted = false;
  while (have < header_bytes) {
    const auto got = recv(socket_, first + have, sizeof first - have, 0);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return give_up(outcome::died);
    } else if (std::chrono::steady_clock::now() >= until) {
      if (interrupted) return give_up(outcome::timed_out);
      interrupted = true;  // it answers with the line that it is at, unless it is in code that cannot be interrupted
      kill(pid_, SIGUSR1);
      set_limit(time_to_explain);
      until = std::chrono::steady_clock::now() + time_to_explain;
    }
  }
  std::uint32_t length = 0;
  std::memcpy(&length, first, 4);
  std::memcpy(&kind_, first + 4, 4);
  if (length < 4 || length > longest_answer || have > length + 4) return give_up(outcome::died);
  answer_.resize(length - 4);
  std::copy_n(first + header_bytes, have - header_bytes, answer_.begin());
  if (const auto rest = receive(std::span(answer_).subspan(have - header_bytes), limit); rest != outcome::answered)
    return give_up(rest);
  if (kind_ == message_kind::failure && output_ != nullptr) output_->write_kept();
  return outcome::answered;
}

void trainer_process::share_processor() {
  if (pid_ == 0) return;
  if (bound.processor >= 0 && std::chrono::steady_clock::now() - bound.since > time_on_processor)
    return unbind();  // during this call the scheduler may move the thread
  const int here = bound.processor >= 0 ? bound.processor : sched_getcpu();
  if (here < 0) return;
  if (bound.processor < 0 && sched_getaffinity(0, sizeof bound.before, &bound.before) == 0 &&
      models::work_scope::at_end(unbind)) {
    run_on(0, here);
    bound.processor = here;
    bound.since = std::chrono::steady_clock::now();
  }
  if (here == processor_) return;
  processor_ = here;
  run_on(pid_, here);
}

void trainer_process::leave_processor() {
  unbind();
  cpu_set_t processors;
  if (processor_ < 0 || sched_getaffinity(0, sizeof processors, &processors) != 0) return;
  sched_setaffinity(pid_, sizeof processors, &processors);
  processor_ = -1;
}

std::uint64_t trainer_process::memory_bytes() const {
  if (pid_ == 0) return 0;
  std::ifstream statistics("/proc/" + std::to_string(pid_) + "/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  statistics >> size >> resident >> shared;
  return resident < shared ? 0 : (resident - shared) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace furlong::scenarios

#include "tests/aggregator_transport/peer_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace furlong::tests {

peer_process::peer_process(const std::string& mode, std::uint16_t port,
                           const actors::aggregator_transport::operator_network& network) {
  std::vector<std::string> words{OPERATOR_PEER, mode, std::to_string(port), std::to_string(network.heartbeat.count()),
                                 std::to_string(network.timeout.count())};
  if (network.tls)
    for (const auto& file : {network.tls->certificate, network.tls->key, network.tls->authority})
      words.push_back(file.string());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int out[2], in[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(in, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int failed = ::posix_spawn(&process_, OPERATOR_PEER, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(in[0]);
  says_ = out[0];
  hears_ = in[1];
  if (failed != 0) throw std::runtime_error("cannot start " OPERATOR_PEER);
}

peer_process::~peer_process() {
  ::close(hears_);
  ::close(says_);
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::optional<std::string> peer_process::line(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = said_.find('\n'); end != std::string::npos) {
      auto first = said_.substr(0, end);
      said_.erase(0, end + 1);
      return first;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{says_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    char more[256];
    const auto got = ::read(says_, more, sizeof(more));
    if (got <= 0) return std::nullopt;
    said_.append(more, static_cast<std::size_t>(got));
  }
}

void peer_process::signal(int number) const { ::kill(process_, number); }

std::optional<int> peer_process::exit_code(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process_ = -1;
  return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

}  // namespace furlong::tests

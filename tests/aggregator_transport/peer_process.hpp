// Runs tests/aggregator_transport/peer.cpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>

#include "actors/aggregator_transport/configure.hpp"

namespace furlong::tests {

/// A process that is killed, if need be, at the end.
class peer_process {
 public:
  /// @param mode "connect" or "listen"
  peer_process(const std::string& mode, std::uint16_t port,
               const actors::aggregator_transport::operator_network& network);
  ~peer_process();
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  /// The next line that it says; nothing when it does not within the limit, or ended.
  [[nodiscard]] std::optional<std::string> line(std::chrono::milliseconds limit = std::chrono::seconds(20));
  void signal(int number) const;
  /// Its exit code; nothing when a signal ended it or it does not end in time.
  [[nodiscard]] std::optional<int> exit_code(std::chrono::milliseconds limit = std::chrono::seconds(20));

 private:
  pid_t process_ = -1;
  int says_ = -1;   ///< its stdout
  int hears_ = -1;  ///< its stdin
  std::string said_;
};

}  // namespace furlong::tests

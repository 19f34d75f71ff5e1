// The threads of connections between processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

namespace furlong::actors::net {

namespace detail {
class io_core;
}

/// Owns the threads of listeners and connections, with their heartbeats and timeouts, independent of the rest of the
/// process. Thread-safe, but must not be destroyed on one of its own threads.
class transport {
 public:
  /// @param threads at least 1; each connection uses one at a time
  explicit transport(std::size_t threads = 1);
  /// Closes all connections at once and waits for the threads. Every on_closed and on_failed has then been called.
  ~transport();
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  /// Waits until all listeners and connections have ended, and at most so long: those that were closed first send what
  /// they have queued (channel_settings::linger).
  void wait_ended(std::chrono::milliseconds longest);

  [[nodiscard]] const std::shared_ptr<detail::io_core>& core() const { return core_; }

 private:
  struct threads_of;
  std::shared_ptr<detail::io_core> core_;
  std::unique_ptr<threads_of> threads_;
};

}  // namespace furlong::actors::net

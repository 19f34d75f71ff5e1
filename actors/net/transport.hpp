// The threads on which all connections of the node transport run.
#pragma once

#include <cstddef>
#include <memory>

namespace furlong::actors::net {

namespace detail {
class io_core;
}

/// Listeners and connections belong to one of these. Heartbeats and timeouts run here, whatever the rest of the process
/// does. Thread-safe, but must not be destroyed on one of its own threads.
class transport {
 public:
  /// @param threads at least 1; each connection uses one at a time
  explicit transport(std::size_t threads = 1);
  /// Closes all connections at once and waits for the threads. Every on_closed and on_failed has been called then.
  ~transport();
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  [[nodiscard]] const std::shared_ptr<detail::io_core>& core() const { return core_; }

 private:
  struct threads_of;
  std::shared_ptr<detail::io_core> core_;
  std::unique_ptr<threads_of> threads_;
};

}  // namespace furlong::actors::net

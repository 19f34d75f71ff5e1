// How many bytes of large frames a gateway may hold at once, over all its channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace furlong::actors::net {

/// Room for large frames: reserved before their bodies are read, given back when the consumer is done with them. Who
/// asks first is served first, so that a large frame is not overtaken for ever by small ones. Thread-safe.
class budget : public std::enable_shared_from_this<budget> {
 public:
  /// Gives its bytes back when the last copy is gone.
  using reservation = std::shared_ptr<const void>;
  /// Called once, outside the lock, by whoever made the room: from any thread, or before reserve() returns.
  using granted = std::function<void(reservation)>;
  using ticket = std::uint64_t;

  /// @param bytes at least the longest frame of any channel that shares it
  [[nodiscard]] static std::shared_ptr<budget> make(std::size_t bytes);

  /// Room at once, or nothing. Nobody who waits is overtaken.
  [[nodiscard]] reservation try_reserve(std::size_t bytes);
  /// Asks for room. More than the whole budget is never granted: callers refuse such a frame first.
  ticket reserve(std::size_t bytes, granted call);
  /// Takes a request back. Nothing happens when it was granted already.
  void cancel(ticket which);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t reserved() const;
  /// The most that was ever reserved.
  [[nodiscard]] std::size_t peak() const;
  /// Requests that wait.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct request {
    ticket id = 0;
    std::size_t bytes = 0;
    granted call;
  };
  explicit budget(std::size_t bytes) : capacity_(bytes) {}
  reservation make_reservation(std::size_t bytes);
  void release(std::size_t bytes);
  void serve(std::unique_lock<std::mutex> lock);

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::size_t reserved_ = 0;
  std::size_t peak_ = 0;
  ticket last_ = 0;
  std::deque<request> requests_;
};
using budget_ptr = std::shared_ptr<budget>;

}  // namespace furlong::actors::net

// The memory budget of a gateway for large frames, over all its channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace furlong::actors::net {

/// Bytes for large frames: reserved before their bodies are read, released when the consumer is done with them.
/// Requests are served in order, so that small frames do not starve a large one. Thread-safe.
class budget : public std::enable_shared_from_this<budget> {
 public:
  /// Releases its bytes with the last copy.
  using reservation = std::shared_ptr<const void>;
  /// Called once, outside the lock, by the thread that released bytes, or before reserve() returns.
  using granted = std::function<void(reservation)>;
  using ticket = std::uint64_t;

  /// @param bytes at least the longest frame of any channel that shares it
  [[nodiscard]] static std::shared_ptr<budget> make(std::size_t bytes);

  /// A reservation without waiting, or null. Does not overtake waiting requests.
  [[nodiscard]] reservation try_reserve(std::size_t bytes);
  /// Requests a reservation. More than the whole budget is never granted: callers refuse such a frame first.
  ticket reserve(std::size_t bytes, granted call);
  /// Cancels a request. No effect if it was granted already.
  void cancel(ticket which);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t reserved() const;
  /// The peak of reserved bytes.
  [[nodiscard]] std::size_t peak() const;
  /// Number of waiting requests.
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

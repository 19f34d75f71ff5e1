// The pause before connecting again.
#pragma once

#include <chrono>
#include <functional>

#include "base/random.hpp"

namespace furlong::actors::net {

/// Exponential backoff with full jitter: the nth wait in a row is uniform in [0, min(longest, first * 2^n)), so that
/// nodes that lost their server together do not reconnect together. Not thread-safe.
class backoff {
 public:
  struct bounds {
    std::chrono::milliseconds first{200};
    std::chrono::milliseconds longest{10'000};  ///< short, because a round without deadline waits for these nodes
  };

  explicit backoff(random_stream random) : backoff(random, bounds{}) {}
  backoff(random_stream random, bounds within);
  /// @param uniform draws from [0, 1)
  backoff(std::function<double()> uniform, bounds within);

  /// The next wait.
  [[nodiscard]] std::chrono::milliseconds next();
  /// After a success: starts again at `first`.
  void reset() { ceiling_ = within_.first; }
  /// Upper bound (exclusive) of the next wait.
  [[nodiscard]] std::chrono::milliseconds ceiling() const { return ceiling_; }

 private:
  std::function<double()> uniform_;
  bounds within_;
  std::chrono::milliseconds ceiling_;
};

}  // namespace furlong::actors::net

// The pause before connecting again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/random.hpp"
#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::processes {

/// Exponential backoff with full jitter: the nth pause in a row is uniform in [0, min(longest, first * 2^n)), so that
/// processes that lost their server together do not reconnect together. Not thread-safe.
class backoff {
 public:
  struct bounds {
    virtual_time first = microseconds_per_second / 5;
    virtual_time longest = 10 * microseconds_per_second;  ///< short: a round without deadline waits for these nodes
  };
  /// Draws a time uniformly from [0, ceiling).
  using time_draw = std::function<virtual_time(virtual_time ceiling)>;

  explicit backoff(time_draw draw) : backoff(std::move(draw), bounds{}) {}
  backoff(time_draw draw, bounds within) : draw_(std::move(draw)), within_(within), ceiling_(within.first) {}
  explicit backoff(random_stream stream)
      : backoff([stream](virtual_time ceiling) mutable {
          return static_cast<virtual_time>(stream.below(static_cast<std::uint32_t>(ceiling)));
        }) {}

  /// The next pause.
  [[nodiscard]] virtual_time next() {
    const auto pause = draw_(ceiling_);
    ceiling_ = std::min(2 * ceiling_, within_.longest);
    return pause;
  }
  /// After a success: starts again at `first`.
  void reset() { ceiling_ = within_.first; }
  /// Upper bound (exclusive) of the next pause.
  [[nodiscard]] virtual_time ceiling() const { return ceiling_; }

 private:
  time_draw draw_;
  bounds within_;
  virtual_time ceiling_;
};

}  // namespace furlong::federated::processes

// A failure that comes back in every session.
#pragma once

#include <cstddef>
#include <string>

namespace furlong::federated::processes {

/// Counts how often the same failure ended a session. Not thread-safe.
class repeated_failure {
 public:
  /// True if it was repeated so often without a success that a new session will not cure it.
  [[nodiscard]] bool is_permanent(const std::string& why) {
    times_ = why == last_ ? times_ + 1 : 1;
    last_ = why;
    return times_ >= most_times;
  }
  void reset() { times_ = 0; }

  static constexpr std::size_t most_times = 5;

 private:
  std::string last_;
  std::size_t times_ = 0;
};

/// Of a process that cannot work with another one.
inline constexpr const char* same_build_remedy =
    "use the same build and the same registered parts on all machines, or report it as a bug";

}  // namespace furlong::federated::processes

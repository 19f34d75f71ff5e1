// What a client of the dashboard may use.
#pragma once

#include <chrono>
#include <cstddef>

namespace furlong::tools::dashboard {

struct http_limits {
  std::size_t threads = 8;                      ///< requests answered at once
  std::size_t waiting = 64;                     ///< connections that wait for one; more stay with the operating system
  std::size_t request = 16'384;                 ///< bytes of a request; there is one per connection
  std::chrono::milliseconds to_ask{5'000};      ///< for the whole request
  std::chrono::milliseconds to_listen{10'000};  ///< for the whole answer
};

}  // namespace furlong::tools::dashboard

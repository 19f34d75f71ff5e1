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
  // The same while other connections wait for a thread. What a client that waited has to ask is there already.
  std::chrono::milliseconds to_ask_when_busy{100};
  std::chrono::milliseconds to_listen_when_busy{1'000};
};

}  // namespace furlong::tools::dashboard

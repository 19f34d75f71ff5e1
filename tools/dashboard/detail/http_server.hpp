// An HTTP server that only reads: GET and HEAD, one request a connection, all of it bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace furlong::tools::dashboard {

/// What a client of the dashboard may use. Times are for the whole of each, not for single bytes: a client that sends a
/// byte now and then is cut off like one that sends none.
struct http_limits {
  std::size_t connections = 64;                 ///< at once: one more ends the oldest
  std::size_t request = 16'384;                 ///< bytes of a request
  std::chrono::milliseconds to_ask{5'000};      ///< for the whole request
  std::chrono::milliseconds to_listen{10'000};  ///< for the whole answer
};

struct http_answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy;  ///< Content-Security-Policy; empty: nothing may be loaded
};
/// The argument is the value of a parameter of the query, as it was sent, or nothing.
using http_query = std::function<std::optional<std::string>(const std::string& name)>;
using http_handler = std::function<http_answer(const http_query&)>;

class http_server {
 public:
  /// `routes`: handlers by path, which one thread calls.
  http_server(std::map<std::string, http_handler> routes, http_limits limits);
  /// Stops. Requests under way are cut off.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// Listens, on a port of the kernel's choice where `port` is 0, and returns the port. Call it once.
  [[nodiscard]] result<std::uint16_t> start(const std::string& host, std::uint16_t port);

 private:
  class acceptor;
  std::unique_ptr<acceptor> acceptor_;
};

}  // namespace furlong::tools::dashboard

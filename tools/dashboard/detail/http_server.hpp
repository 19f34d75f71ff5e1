// An HTTP server that only reads: GET and HEAD, one request a connection, all of it bounded.
#pragma once

#include <atomic>
#include <functional>
#include <httplib.h>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "tools/dashboard/detail/deadline_stream.hpp"

namespace furlong::tools::dashboard {

struct http_answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy;  ///< Content-Security-Policy; empty: nothing may be loaded
};
/// Called from several threads. The argument is the value of a parameter of the query, or nothing.
using http_query = std::function<std::optional<std::string>(const std::string& name)>;
using http_handler = std::function<http_answer(const http_query&)>;

class http_server final : private httplib::Server {
 public:
  /// `routes`: handlers by path.
  http_server(std::map<std::string, http_handler> routes, http_limits limits);
  /// Stops. Requests under way are cut off within a moment.
  ~http_server() override;

  /// Listens, on a port of the kernel's choice where `port` is 0, and returns the port. Call it once.
  [[nodiscard]] result<std::uint16_t> start(const std::string& host, std::uint16_t port);

 private:
  [[nodiscard]] bool process_and_close_socket(socket_t socket) override;
  void answer(const httplib::Request& request, httplib::Response& response) const;
  void serve(const std::string& host, std::uint16_t port);

  std::map<std::string, http_handler> routes_;
  const http_limits limits_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread listener_;
};

}  // namespace furlong::tools::dashboard

// An HTTP server that only reads: GET and HEAD, one request a connection, all of it bounded.
//
// Why not cpp-httplib (0.11 in Debian 12, 0.14 in Ubuntu 24.04): it reads a line of any length and any number of
// headers into memory, has a time limit for each read but none for a request, lets a connection wait while slow ones
// hold all its threads, cannot end the oldest one, does not stop before its slow clients do, and says not why a port
// cannot be bound. It also answers ranges and compresses, and is a shared library there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "actors/net/address.hpp"

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
  std::string body;
  std::string type = "text/plain; charset=utf-8";
  unsigned status = 200;
  std::string policy = "default-src 'none'; frame-ancestors 'none'";  ///< Content-Security-Policy
};
/// The argument is what follows the '?' of the address, as it was sent.
using http_handler = std::function<http_answer(std::string_view query)>;
using http_routes = std::map<std::string, http_handler, std::less<>>;  ///< by path

class http_server {
 public:
  /// One thread, the server's own, calls the handlers.
  http_server(http_routes routes, http_limits limits) : routes_(std::move(routes)), limits_(limits) {}
  /// Stops. Requests under way are cut off.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// Listens, on a port of the kernel's choice where its number is 0, and returns the port. Call it once.
  [[nodiscard]] result<std::uint16_t> start(const actors::net::host_port& address);

 private:
  class connection;
  void serve();
  void accept();
  void admit(boost::asio::ip::tcp::socket socket);

  const http_routes routes_;
  const http_limits limits_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor socket_{io_};
  boost::asio::steady_timer pause_{io_};
  std::deque<std::weak_ptr<connection>> open_;  ///< the oldest first
  std::thread thread_;
};

}  // namespace furlong::tools::dashboard

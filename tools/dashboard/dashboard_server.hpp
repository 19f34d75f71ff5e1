// The dashboard of a federation: a web page, the same as JSON, figures for Prometheus, and a sign of life. It only
// reads, has no authentication and no encryption: bind it to loopback, or to a network of the operator's, behind a
// proxy that has both.
//
//   /                    the page; needs nothing from elsewhere
//   /api/status          all but the rounds (status_json.hpp)
//   /api/rounds?from=N   rounds that end at version N or later, old ones merged
//   /metrics             Prometheus text format 0.0.4
//   /healthz             200 "ok"; 503 when the federation has not published for `hang_after`
//
// Other paths are 404, other methods than GET and HEAD 405, a bad query 400, a slow request 408, a large one 431. A
// connection carries one request. No header lets pages of other origins read an answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "tools/dashboard/status_board.hpp"

namespace furlong::tools::dashboard {

class http_server;

struct dashboard_settings {
  std::string host = "127.0.0.1";  ///< a name or an address, IPv6 without brackets
  std::uint16_t port = 0;          ///< 0: of the kernel's choice
  std::chrono::milliseconds hang_after{30'000};
  std::chrono::milliseconds request_time{5'000};  ///< for a client to send its request
};

/// Serves from a thread of its own until it is destroyed.
class dashboard_server {
 public:
  /// `board` must outlive the server. Fails as net::bind_socket() does.
  [[nodiscard]] static result<std::unique_ptr<dashboard_server>> start(const status_board& board,
                                                                       dashboard_settings settings);
  /// Takes a fraction of a second, whatever clients do.
  ~dashboard_server();
  dashboard_server(const dashboard_server&) = delete;
  dashboard_server& operator=(const dashboard_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:8080/"
  [[nodiscard]] std::string url() const;
  /// What to warn of in the log; empty on loopback.
  [[nodiscard]] std::string caution() const;

 private:
  dashboard_server(const status_board& board, dashboard_settings settings);

  dashboard_settings settings_;
  std::uint16_t port_ = 0;
  std::unique_ptr<http_server> server_;
};

/// Whether a host means this machine alone: "localhost", 127.0.0.0/8, "::1".
[[nodiscard]] bool is_loopback(const std::string& host);

}  // namespace furlong::tools::dashboard

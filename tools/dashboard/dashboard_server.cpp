#include "tools/dashboard/dashboard_server.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <netinet/in.h>

#include "tools/dashboard/detail/http_server.hpp"
#include "tools/dashboard/detail/page.hpp"
#include "tools/dashboard/metrics.hpp"
#include "tools/dashboard/status_json.hpp"

namespace furlong::tools::dashboard {

namespace {

constexpr const char* json_type = "application/json";

// A number from 0 on; nothing given is 0.
std::optional<std::uint64_t> version_of(const std::optional<std::string>& text) {
  std::uint64_t version = 0;
  if (!text) return version;
  const auto* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, version);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return version;
}

std::map<std::string, http_handler> routes_of(const status_board& board, std::chrono::duration<double> hang_after) {
  std::map<std::string, http_handler> routes;
  routes["/"] = [](const http_query&) {
    const auto& page = the_page();
    return http_answer{200, "text/html; charset=utf-8", page.html, page.policy};
  };
  routes["/api/status"] = [&board](const http_query&) {
    return http_answer{200, json_type, text_of(status_json(board.snapshot())), {}};
  };
  routes["/api/rounds"] = [&board](const http_query& query) {
    const auto from = version_of(query("from"));
    if (!from) return http_answer{400, json_type, R"({"error":"from: a number of a round, 0 or more"})", {}};
    return http_answer{200, json_type, text_of(rounds_json(board.rounds_since(*from))), {}};
  };
  routes["/metrics"] = [&board](const http_query&) {
    return http_answer{200, metrics_type, metrics_text(board.snapshot()), {}};
  };
  routes["/healthz"] = [&board, hang_after](const http_query&) {
    const double silence = board.silence();
    if (silence < hang_after.count()) return http_answer{200, "text/plain; charset=utf-8", "ok\n", {}};
    return http_answer{503,
                       "text/plain; charset=utf-8",
                       "nothing heard of the federation for " + std::to_string(static_cast<long>(silence)) + " s\n",
                       {}};
  };
  return routes;
}

bool is_ipv6(const std::string& host) { return host.find(':') != std::string::npos; }

}  // namespace

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

dashboard_server::dashboard_server(const status_board& board, dashboard_settings settings)
    : settings_(std::move(settings)) {
  http_limits limits;
  limits.to_ask = settings_.request_time;
  server_ = std::make_unique<http_server>(routes_of(board, settings_.hang_after), limits);
}

dashboard_server::~dashboard_server() = default;

result<std::unique_ptr<dashboard_server>> dashboard_server::start(const status_board& board,
                                                                  dashboard_settings settings) {
  // The library would take an empty name for all addresses of the machine.
  if (settings.host.empty())
    return fail(error::kind::usage, "--dashboard", "no host",
                "write 127.0.0.1:PORT, or 0.0.0.0:PORT for all addresses");
  std::unique_ptr<dashboard_server> made(new dashboard_server(board, std::move(settings)));
  const auto port = made->server_->start(made->settings_.host, made->settings_.port);
  if (!port) return tl::unexpected(port.error());
  made->port_ = *port;
  return made;
}

std::string dashboard_server::url() const {
  const auto host = is_ipv6(settings_.host) ? "[" + settings_.host + "]" : settings_.host;
  return "http://" + host + ":" + std::to_string(port_) + "/";
}

std::string dashboard_server::caution() const {
  if (is_loopback(settings_.host)) return {};
  return "the dashboard at " + url() + " has no authentication: anyone who reaches it can read it";
}

}  // namespace furlong::tools::dashboard

#include "tools/dashboard/dashboard_server.hpp"

#include <boost/asio/ip/address.hpp>
#include <optional>

#include "base/parse_number.hpp"
#include "tools/dashboard/detail/http_server.hpp"
#include "tools/dashboard/detail/page_parts.hpp"
#include "tools/dashboard/metrics.hpp"
#include "tools/dashboard/status_json.hpp"
#include "tools/page/page.hpp"

namespace furlong::tools::dashboard {

namespace {

constexpr const char* json_type = "application/json";

// The page allows its own style and script, by their hashes, and nothing else.
http_answer answer_page(std::string_view) {
  static const auto script = std::string(chart_script) + std::string(dashboard_script);
  static const auto policy = "default-src 'none'; connect-src 'self'; img-src data:; style-src " +
                             policy_source(page_style) + "; script-src " + policy_source(script) +
                             "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  static const auto html = fill_template(dashboard_page, {{"style", page_style}, {"script", script}});
  return {html, "text/html; charset=utf-8", 200, policy};
}

// The number that a query has as "from", from 0 on; 0 if it has none, nothing if it is no number.
std::optional<std::uint64_t> version_in(std::string_view query) {
  constexpr std::string_view name = "from=";
  while (!query.empty() && !query.starts_with(name)) {
    const auto end = query.find('&');
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
  }
  if (query.empty()) return 0;
  return parse_number<std::uint64_t>(query.substr(name.size(), query.find('&') - name.size()));
}

http_answer answer_rounds(const status_board& board, std::string_view query) {
  const auto version = version_in(query);
  if (!version) return {R"({"error":"from: a number of a round, 0 or more"})", json_type, 400};
  return {text_of(rounds_json(board.rounds_since(*version))), json_type};
}

http_answer answer_health(double silence, double hang_after) {
  if (silence < hang_after) return {"ok\n"};
  const auto seconds = std::to_string(static_cast<long>(silence));
  return {.body = "nothing heard of the federation for " + seconds + " s\n", .status = 503};
}

http_routes routes_of(const status_board& board, std::chrono::duration<double> hang_after) {
  http_routes routes;
  routes["/"] = answer_page;
  routes["/api/status"] = [&board](auto) { return http_answer{text_of(status_json(board.snapshot())), json_type}; };
  routes["/api/rounds"] = [&board](auto query) { return answer_rounds(board, query); };
  routes["/metrics"] = [&board](auto) { return http_answer{metrics_text(board.snapshot()), metrics_type}; };
  routes["/healthz"] = [&board, hang_after](auto) { return answer_health(board.silence(), hang_after.count()); };
  return routes;
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  boost::system::error_code no_address;
  return boost::asio::ip::make_address(host, no_address).is_loopback();
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
  const auto port = made->server_->start({made->settings_.host, made->settings_.port});
  if (!port) return tl::unexpected(port.error());
  made->port_ = *port;
  return made;
}

std::string dashboard_server::url() const {
  return "http://" + actors::net::host_port{settings_.host, port_}.text() + "/";
}

std::string dashboard_server::caution() const {
  if (is_loopback(settings_.host)) return {};
  return "the dashboard at " + url() + " has no authentication: anyone who reaches it can read it";
}

}  // namespace furlong::tools::dashboard

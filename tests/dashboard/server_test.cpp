// The server over real sockets on loopback.
#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "tests/dashboard/sample.hpp"
#include "tools/dashboard/dashboard_server.hpp"
#include "tools/dashboard/metrics.hpp"
#include "tools/dashboard/status_client.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(server_suite)

using namespace tools::dashboard;
using namespace std::chrono_literals;
using test_clock = std::chrono::steady_clock;

namespace {

/// A connection that says what it is told to say.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  ~raw_client() { ::close(socket_); }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  /// False once the other side does not listen any more.
  bool say(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// All until the other side closes, for at most `longest`.
  [[nodiscard]] std::string hear(std::chrono::milliseconds longest = 10s) const {
    const auto until = test_clock::now() + longest;
    std::string text;
    while (test_clock::now() < until) {
      pollfd one{socket_, POLLIN, 0};
      if (::poll(&one, 1, 50) <= 0) continue;
      char buffer[65'536];
      const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int socket_;
};

struct answer {
  std::string head;
  std::string body;
  [[nodiscard]] bool is(int status) const { return head.starts_with("HTTP/1.1 " + std::to_string(status) + " "); }
  [[nodiscard]] bool has(const std::string& part) const { return head.find(part) != std::string::npos; }
};

answer split(const std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return {text, {}};
  return {text.substr(0, end + 2), text.substr(end + 4)};
}

/// A dashboard with sample data on a port of the kernel's choice.
struct served : sample_board {
  std::unique_ptr<dashboard_server> server;

  explicit served(dashboard_settings settings = {}) : sample_board(140, true) {
    auto started = dashboard_server::start(board, std::move(settings));
    if (!started) BOOST_FAIL(started.error().text());
    server = std::move(*started);
  }
  [[nodiscard]] answer ask(const std::string& target, const std::string& method = "GET") const {
    const raw_client client(server->port());
    client.say(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return split(client.hear());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_route_answers_with_its_type_and_safe_headers) {
  const served here;
  BOOST_TEST(here.server->port() != 0);
  struct expected {
    const char* path;
    const char* type;
    const char* part;
  };
  for (const auto& one : {expected{"/", "text/html; charset=utf-8", "<title>Furlong</title>"},
                          expected{"/api/status", "application/json", "\"phase\":\"training\""},
                          expected{"/api/rounds?from=100", "application/json", "\"first\":100"},
                          expected{"/api/rounds", "application/json", "\"first\":1,"},
                          expected{"/metrics", metrics_type, "# TYPE furlong_round gauge"},
                          expected{"/healthz", "text/plain; charset=utf-8", "ok\n"}}) {
    const auto got = here.ask(one.path);
    BOOST_TEST(got.is(200), one.path);
    BOOST_TEST(got.has("Content-Type: " + std::string(one.type) + "\r\n"), one.path);
    BOOST_TEST(got.body.find(one.part) != std::string::npos, one.path);
    BOOST_TEST(got.has("Content-Length: " + std::to_string(got.body.size()) + "\r\n"), one.path);
    BOOST_TEST(got.has("X-Content-Type-Options: nosniff\r\n"), one.path);
    BOOST_TEST(got.has("Content-Security-Policy: default-src 'none'"), one.path);
    BOOST_TEST(!got.has("Access-Control"), one.path);
  }
}

BOOST_AUTO_TEST_CASE(the_page_allows_its_own_script_only) {
  const served here;
  const auto page = here.ask("/");
  BOOST_TEST(page.has("script-src 'sha256-"));
  BOOST_TEST(page.has("style-src 'sha256-"));
  BOOST_TEST(!page.has("unsafe"));
  BOOST_TEST(page.has("default-src 'none'; connect-src 'self'; img-src data:;"));
  // Nothing from elsewhere: addresses are names of namespaces, a scheme that Vega knows, and who made it.
  for (auto at = page.body.find("://"); at != std::string::npos; at = page.body.find("://", at + 1)) {
    const auto rest = page.body.substr(at, 20);
    BOOST_TEST(
        (rest.starts_with("://www.w3.org/") || rest.starts_with("://vega.github.io") || rest.starts_with("://\"")),
        rest);
  }
  BOOST_TEST(page.body.find("innerHTML") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(rounds_come_from_where_they_are_asked) {
  const served here;
  const auto rounds = json::parse(here.ask("/api/rounds?from=139").body).at("rounds");
  BOOST_REQUIRE(rounds.size() == 2);
  BOOST_TEST(rounds.at(1).at("last") == 140);
  BOOST_TEST(json::parse(here.ask("/api/rounds?from=141").body).at("rounds").empty());
  for (const char* wrong : {"-1", "x", "1x", "99999999999999999999", "", "1%20", "%00"})
    BOOST_TEST(here.ask(std::string("/api/rounds?from=") + wrong).is(400), wrong);
}

BOOST_AUTO_TEST_CASE(head_is_get_without_a_body) {
  const served here;
  for (const char* path : {"/", "/metrics", "/api/rounds"}) {
    const auto get = here.ask(path), head = here.ask(path, "HEAD");
    BOOST_TEST(head.is(200));
    BOOST_TEST(head.body.empty());
    BOOST_TEST(head.has("Content-Length: " + std::to_string(get.body.size()) + "\r\n"), path);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_404_and_what_is_not_reading_405) {
  const served here;
  for (const char* path : {"/nothing", "/api", "/api/status/", "//", "/../etc/passwd", "/%2e%2e/", "/metricsx"})
    BOOST_TEST(here.ask(path).is(404), path);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const auto got = here.ask("/api/status", method);
    BOOST_TEST(got.is(405), method);
    BOOST_TEST(got.has("Allow: GET, HEAD\r\n"), method);
  }
  const raw_client poster(here.server->port());
  poster.say("POST /api/status HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\nabc");
  BOOST_TEST(split(poster.hear()).is(405));
}

BOOST_AUTO_TEST_CASE(ranges_and_compression_are_not_offered) {
  const served here;
  const raw_client client(here.server->port());
  client.say("GET / HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1,0-2\r\nAccept-Encoding: br, gzip\r\n\r\n");
  const auto got = split(client.hear());
  BOOST_TEST(got.is(200));
  BOOST_TEST(!got.has("Content-Encoding"));
  BOOST_TEST(got.body == here.ask("/").body);
}

BOOST_AUTO_TEST_CASE(requests_that_are_no_http_are_400) {
  const served here;
  for (const char* text : {"hello\r\n\r\n", "BREW /pot HTTP/1.1\r\n\r\n", "GET / HTTP/9\r\n\r\n", "\r\n\r\n"}) {
    const raw_client client(here.server->port());
    client.say(text);
    BOOST_TEST(split(client.hear()).is(400), text);
  }
  const raw_client binary(here.server->port());
  binary.say(std::string("\x16\x03\x01\0\xFF\n\r\n\r\n", 9));  // as TLS begins
  static_cast<void>(binary.hear());
  BOOST_TEST(here.ask("/healthz").is(200));
}

BOOST_AUTO_TEST_CASE(huge_requests_are_cut_off) {
  const served here;
  const std::string start = "GET / HTTP/1.1\r\n";
  for (const auto& text : {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n",
                           start + "X: " + std::string(1'000'000, 'b'), start + std::string(1'000'000, 'c')}) {
    const raw_client client(here.server->port());
    static_cast<void>(client.say(text));
    const auto got = split(client.hear());
    BOOST_TEST((got.is(431) || got.head.empty()), got.head);
  }
  const raw_client just_too_large(here.server->port());
  just_too_large.say(start + "X: " + std::string(20'000, 'd') + "\r\n\r\n");
  BOOST_TEST(split(just_too_large.hear()).is(431));
  BOOST_TEST(here.ask("/healthz").is(200));
}

BOOST_AUTO_TEST_CASE(slow_clients_are_cut_off_and_others_served_meanwhile) {
  dashboard_settings settings;
  settings.request_time = 600ms;
  const served here(settings);
  const auto begun = test_clock::now();
  std::vector<std::unique_ptr<raw_client>> silent;
  for (int i = 0; i < 6; ++i) silent.push_back(std::make_unique<raw_client>(here.server->port()));
  for (const auto& one : silent) one->say("GET / HT");
  BOOST_TEST(here.ask("/healthz").is(200));
  // A byte now and then does not keep a connection open.
  const raw_client dripping(here.server->port());
  dripping.say("GET / HTTP/1.1\r\nX: ");
  std::string heard;
  while (test_clock::now() - begun < 8s && heard.empty()) {
    static_cast<void>(dripping.say("y"));
    heard = dripping.hear(50ms);
  }
  BOOST_TEST(split(heard).is(408), heard);
  for (const auto& one : silent) BOOST_TEST(split(one->hear()).is(408));
}

BOOST_AUTO_TEST_CASE(one_connection_more_than_there_is_room_for_ends_the_oldest) {
  dashboard_settings settings;
  settings.request_time = 60s;
  const served here(settings);
  std::vector<std::unique_ptr<raw_client>> many;
  for (int i = 0; i < 65; ++i) many.push_back(std::make_unique<raw_client>(here.server->port()));
  const auto begun = test_clock::now();
  BOOST_TEST(many.front()->hear().empty());
  BOOST_TEST((test_clock::now() - begun < 8s));
  many.back()->say("GET /healthz HTTP/1.1\r\n\r\n");
  BOOST_TEST(split(many.back()->hear()).is(200));
  many[1]->say("GET /healthz HTTP/1.1\r\n\r\n");
  BOOST_TEST(split(many[1]->hear()).is(200));
}

// Else a probe of /healthz would find the server dead: there is room for 64.
BOOST_AUTO_TEST_CASE(slow_clients_do_not_keep_others_waiting) {
  const served here;
  std::vector<std::unique_ptr<raw_client>> many;
  for (int i = 0; i < 79; ++i) {
    many.push_back(std::make_unique<raw_client>(here.server->port()));
    if (i % 2 == 0) many.back()->say("GET / HT");
  }
  const auto begun = test_clock::now();
  BOOST_TEST(here.ask("/healthz").is(200));
  BOOST_TEST((test_clock::now() - begun < 4s));  // 50 s where each may take its five
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_read_cannot_stop_the_end) {
  auto here = std::make_unique<served>();
  std::vector<std::unique_ptr<raw_client>> deaf;
  for (int i = 0; i < 8; ++i) {
    deaf.push_back(std::make_unique<raw_client>(here->server->port()));
    deaf.back()->say("GET /api/rounds HTTP/1.1\r\n\r\n");
  }
  deaf.push_back(std::make_unique<raw_client>(here->server->port()));
  deaf.back()->say("GET");
  std::this_thread::sleep_for(50ms);
  const auto begun = test_clock::now();
  here->server.reset();
  BOOST_TEST((test_clock::now() - begun < 3s));
}

BOOST_AUTO_TEST_CASE(health_follows_the_publications) {
  served here;
  BOOST_TEST(here.ask("/healthz").is(200));
  here.time.steady = 29.9;
  BOOST_TEST(here.ask("/healthz").is(200));
  here.time.steady = 30.0;
  const auto sick = here.ask("/healthz");
  BOOST_TEST(sick.is(503));
  BOOST_TEST(sick.body == "nothing heard of the federation for 30 s\n");
  here.board.publish(sample_live(sample_now, false));
  BOOST_TEST(here.ask("/healthz").is(200));
}

BOOST_AUTO_TEST_CASE(a_port_has_one_server) {
  const served here;
  dashboard_settings same;
  same.port = here.server->port();
  const auto second = dashboard_server::start(here.board, same);
  BOOST_REQUIRE(!second);
  BOOST_TEST((second.error().what == error::kind::runtime));
  BOOST_TEST(second.error().text().find("in use") != std::string::npos, second.error().text());
}

BOOST_AUTO_TEST_CASE(a_port_is_free_again_at_once) {
  auto here = std::make_unique<served>();
  dashboard_settings same;
  same.port = here->server->port();
  BOOST_TEST(here->ask("/healthz").is(200));
  here->server.reset();
  BOOST_TEST(dashboard_server::start(here->board, same).has_value());
}

BOOST_AUTO_TEST_CASE(addresses_say_who_can_reach_them) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) BOOST_TEST(is_loopback(host), host);
  for (const char* host :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost.example.org", "127.0.0.1.example.org", ""})
    BOOST_TEST(!is_loopback(host), host);
  status_board board;
  dashboard_settings nobody;
  nobody.host = "";
  const auto refused = dashboard_server::start(board, nobody);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().what == error::kind::usage));
  dashboard_settings everybody;
  everybody.host = "0.0.0.0";
  const auto open = dashboard_server::start(board, everybody);
  BOOST_REQUIRE(open);
  BOOST_TEST((*open)->caution().find("no authentication") != std::string::npos);
  BOOST_TEST(served().server->caution().empty());
  dashboard_settings unknown;
  unknown.host = "192.0.2.1";  // of no machine
  BOOST_TEST(!dashboard_server::start(board, unknown));
}

BOOST_AUTO_TEST_CASE(the_status_client_reads_a_dashboard_and_nothing_else) {
  auto here = std::make_unique<served>();
  const auto port = here->server->port();
  const auto status = fetch_status("127.0.0.1", port);
  if (!status) BOOST_FAIL(status.error().text());
  BOOST_TEST(status->at("nodes").size() == 16);
  here->server.reset();
  const auto gone = fetch_status("127.0.0.1", port, 2s);
  BOOST_REQUIRE(!gone);
  BOOST_TEST((gone.error().what == error::kind::data));
  BOOST_TEST(gone.error().text().find("127.0.0.1:" + std::to_string(port) + ": cannot connect") == 0,
             gone.error().text());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
